// SPDX-License-Identifier: BSD-3-Clause
// processors.hpp - runs images whose ranks have several lanes: the lanes share their processor.
//
// Idea     What a lane does next (one message, one computation, or taking one of the messages of a
//          reception) becomes possible at some time. The processor of a rank takes what is
//          possible in the order of these times, of equal ones the earlier lane's, one after the
//          other.
// Why      Where a rank has one lane, any order in which a reception comes after its sends gives
//          the answer (lanes.hpp). Of several lanes the one that is first takes the processor from
//          the others, so there is no way around the order of time.
//          Cards that ranks of a node share are the same: a message enters a card when it is its
//          turn.
// Holds    The same order as in GOAL's reader (lab/simulate/goal_read.cpp): both say the same
//          times.
// Next     generic.cpp delivers at once; lab/simulate/events.cpp by way of ports and links.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "plan/simulate/board.hpp"
#include "plan/simulate/lanes.hpp"
#include "plan/simulate/time_queue.hpp"

namespace weft::plan {

/// Whether some rank has more than one lane, or messages meet in cards.
[[nodiscard]] bool needs_order(std::span<const ImagePart> parts);

class Processors {
  public:
    Processors(std::span<const ImagePart> parts, const Surroundings& surroundings,
               const Trace& trace);

    /// If all messages arrive as their senders say, ranks may be run ahead of others by less than
    /// the least that a message takes: none of them can tell. Without effect where cards or a
    /// trace can.
    void run_ahead();

    /// Nothing is possible before something else arrives.
    [[nodiscard]] bool idle() const { return possible_.empty(); }
    /// When the next thing is possible. Not if idle.
    [[nodiscard]] Time next() const { return possible_.top().time; }
    /// What comes next is later than is of interest, or some rank has too much to do to be through
    /// by then. Not if idle.
    [[nodiscard]] bool gives_up() const {
        return next() > around_.give_up || late_ > around_.give_up;
    }
    /// Does the next thing; calls send(Departure) if it is a message.
    template <class Send>
    void step(Send send);
    /// Notes an arrival, at a time not before that of the last step.
    void arrive(Rank target, std::uint32_t key, Time time);

    [[nodiscard]] std::uint64_t raises() const { return raises_; }
    /// The times of the ranks; a failure if some lane is still waiting, unless it gives up.
    [[nodiscard]] base::Result<Outcome> outcome() const;

  private:
    enum class State : std::uint8_t { acting, receiving, done };

    struct LaneState {
        const ImagePart* part = nullptr;
        ImageLane lane;
        std::size_t row = 0;                 ///< of its piece, in the part's rows
        const std::uint32_t* at = nullptr;   ///< the next word of the piece
        const std::uint32_t* run = nullptr;  ///< of a run of sends: the next target, or null
        std::uint32_t left = 0;              ///< sends of the run, or messages of the reception
        std::uint32_t waits = 0;             ///< receptions that are over
        State state = State::acting;
        Time ready = 0;  ///< when what it did last was done
    };
    static constexpr std::uint32_t kNoKey = std::numeric_limits<std::uint32_t>::max();

    struct Possible {
        Time time = 0;
        std::uint32_t lane = 0;
        std::uint32_t key = kNoKey;  ///< of a message that can be taken

        friend bool operator>(const Possible& a, const Possible& b) {
            const bool same = a.time == b.time;
            const bool lane = same & (a.lane == b.lane);
            return (a.time > b.time) | (same & (a.lane > b.lane)) |
                   (lane & (a.key > b.key));  // no branch
        }
    };

    [[nodiscard]] const std::uint32_t* piece_of(const LaneState& state) const {
        return state.part->pieces().words().data() + state.part->pieces().rows()[state.row];
    }
    [[nodiscard]] Rank ahead(Rank rank, std::uint32_t distance) const {
        const std::uint32_t to = static_cast<std::uint32_t>(rank) + distance;
        const auto size = static_cast<std::uint32_t>(ranks_);
        return static_cast<Rank>(to < size ? to : to - size);
    }
    [[nodiscard]] static std::uint64_t cell(Rank owner, std::uint32_t key) {
        return static_cast<std::uint64_t>(owner) << 32 | key;
    }
    [[nodiscard]] Clock& clock_of(const LaneState& state) {
        return clocks_[static_cast<std::size_t>(state.lane.rank)];
    }
    /// Finds out what the lane does next, and queues it.
    void go_on(std::uint32_t index);
    void begin_reception(std::uint32_t index);
    /// What all lanes of a rank have to do, if that can make it give up.
    void count_work();
    void done(Rank rank, Time work) {
        if (!left_.empty()) left_[static_cast<std::size_t>(rank)] -= work;
    }
    /// Once a rank has received something: that alone makes ranks late.
    void note_late(Rank rank, Time now) {
        if (!left_.empty()) late_ = std::max(late_, now + left_[static_cast<std::size_t>(rank)]);
    }
    void await(std::uint32_t index, std::uint32_t key);
    void await_cell(std::uint32_t index, Rank owner, std::uint32_t key);
    void take(const Possible& message, LaneState& state);
    void compute(LaneState& state);
    void publish(LaneState& state);
    [[nodiscard]] Departure send_next(LaneState& state);
    /// A message that goes by way of cards: it waits for its own node's, then for its target's.
    struct Flight {
        Departure departure;
        Time hold = 0;
        bool left = false;  ///< it is through its own node's card
    };
    void depart(const Departure& departure, Time hold);
    void fly(std::uint32_t flight, Time now);
    [[nodiscard]] Time& card_of(Rank rank, bool out) {
        const auto node = static_cast<std::size_t>(lanes_.front().part->node_of(rank));
        const std::size_t index = 2 * node + (out ? 1 : 0);
        if (index >= cards_.size()) cards_.resize(index + 1);
        return cards_[index];
    }
    void show(Span::Kind kind, Rank rank, Rank peer, Time begin, Time end) const {
        if (trace_ && end > begin) trace_({kind, rank, peer, begin, end});
    }

    const Surroundings& around_;
    const Trace& trace_;
    Time busy_base_;
    Rank ranks_;
    std::vector<LaneState> lanes_;
    std::vector<Clock> clocks_;  ///< by rank
    std::vector<Time> left_;     ///< by rank: what it has to do yet, at the least
    Time late_ = 0;              ///< when the last rank is through, at the earliest
    TimeQueue<Possible> possible_;
    Board arrivals_;
    Board waiting_;               ///< the lane that waits for such an arrival
    std::optional<Board> works_;  ///< what the bytes of arrivals take their receivers, if they do
    std::unordered_map<std::uint64_t, Time> cells_;
    std::unordered_multimap<std::uint64_t, std::uint32_t> readers_;  ///< waiting lanes by cell
    std::vector<Flight> flights_;
    std::vector<std::uint32_t> landed_;  ///< flights that are over
    std::vector<Time> cards_;            ///< by node, in and out: when it is free
    std::uint64_t raises_ = 0;
    std::uint64_t waits_ = 0;
};

template <class Send>
void Processors::step(Send send) {
    const Possible next = possible_.top();
    possible_.pop();
    if (next.lane >= lanes_.size()) {
        fly(next.lane - static_cast<std::uint32_t>(lanes_.size()), next.time);
        return;
    }
    LaneState& state = lanes_[next.lane];
    if (state.state == State::receiving) {
        take(next, state);
        return;
    }
    Clock& clock = clock_of(state);
    clock.now = std::max(clock.now, next.time);
    const auto word = static_cast<Word>(*state.at & 7);
    if (word == Word::compute) {
        compute(state);
    } else if (word == Word::publish) {
        publish(state);
    } else {
        const Time hold = state.part->holds()[state.at[1]];
        const Departure message = send_next(state);
        state.ready = clock.now;
        go_on(next.lane);
        if (hold > 0)
            depart(message, hold);
        else
            send(message);
        return;
    }
    state.ready = clock.now;
    go_on(next.lane);
}

}  // namespace weft::plan
