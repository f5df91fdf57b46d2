// SPDX-License-Identifier: BSD-3-Clause
// processors.hpp - runs images whose ranks have several lanes, which share the rank's processor.
//
// Idea     The next action of a lane is a send, a computation or the receipt of one message of a
//          reception. Each action has a time from which it is possible. The processor of a rank
//          executes actions one at a time, in order of these times; ties go to the earlier lane.
// Why      With one lane for each rank, any order in which a reception follows its sends gives the
//          result (lanes.hpp). With several lanes the first one delays the others, so the order of
//          time is necessary. It is also necessary for NICs that ranks of a node share: messages
//          enter a NIC one after the other.
// Holds    The order equals that of GOAL's reader (goal_read.cpp), so both give the same times.
// Next     generic.cpp delivers at once; events.cpp delivers over ports and links.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tools/simulate/board.hpp"
#include "tools/simulate/lanes.hpp"
#include "tools/simulate/time_queue.hpp"

namespace weft::lab {

/// Returns true if a rank has more than one lane, or if messages use NICs.
[[nodiscard]] bool needs_order(std::span<const ImagePart> parts);

class Processors {
  public:
    Processors(std::span<const ImagePart> parts, const SimulationInputs& inputs,
               const Trace& trace);

    /// Lets ranks run ahead of other ranks by less than the least time of a message. The results do
    /// not change if each message arrives at the time that its sender computed. Has no effect with
    /// NICs, a network or a trace.
    void run_ahead();

    /// Returns true if no action is possible before another arrival.
    [[nodiscard]] bool idle() const { return possible_.empty(); }
    /// Returns the time of the next action. Must not be called if idle().
    [[nodiscard]] Time next() const { return possible_.top().time; }
    /// Executes the next action; calls send(Departure) if it is a message.
    template <class Send>
    void step(Send send);
    /// Stores an arrival, whose time must not precede the last step.
    void arrive(Rank target, std::uint32_t key, Time time);

    /// Returns the times of the ranks. Fails if a lane is still waiting.
    [[nodiscard]] base::Result<Outcome> outcome() const;

  private:
    enum class Phase : std::uint8_t { acting, receiving, done };

    struct LaneState {
        const ImagePart* part = nullptr;
        ImageLane lane;
        std::size_t row = 0;                 ///< index of its piece in Pieces::rows()
        const std::uint32_t* at = nullptr;   ///< next word of the piece
        const std::uint32_t* run = nullptr;  ///< next target of a run of sends, or nullptr
        /// Sends left in the run, or messages left in the reception.
        std::uint32_t left = 0;
        std::uint32_t waits = 0;  ///< number of receptions that have ended
        Phase phase = Phase::acting;
        Time ready = 0;  ///< end of its last action
    };
    static constexpr std::uint32_t kNoKey = std::numeric_limits<std::uint32_t>::max();

    /// An action and the time from which it is possible.
    struct PossibleAction {
        Time time = 0;
        std::uint32_t lane = 0;  ///< index; the number of lanes + i: flight i enters its next NIC
        std::uint32_t key = kNoKey;  ///< key of the message to receive; kNoKey: no reception

        friend bool operator>(const PossibleAction& a, const PossibleAction& b) {
            const bool same = a.time == b.time;
            const bool lane = same & (a.lane == b.lane);
            return (a.time > b.time) | (same & (a.lane > b.lane)) |
                   (lane & (a.key > b.key));  // no branch
        }
    };

    [[nodiscard]] const std::uint32_t* piece_of(const LaneState& state) const {
        return state.part->pieces().words().data() + state.part->pieces().rows()[state.row];
    }
    [[nodiscard]] Clock& clock_of(const LaneState& state) {
        return clocks_[static_cast<std::size_t>(state.lane.rank)];
    }
    /// Determines the lane's next action, and adds it to possible_.
    void queue_next(std::uint32_t index);
    void begin_reception(std::uint32_t index);
    void await(std::uint32_t index, std::uint32_t key);
    void await_cell(std::uint32_t index, Rank owner, std::uint32_t key);
    void receive_one(const PossibleAction& message, LaneState& state);
    void compute(LaneState& state);
    void publish(LaneState& state);
    [[nodiscard]] Departure send_next(LaneState& state);
    /// A message through NICs: first the NIC of its sender's node, then that of its target's node.
    struct Flight {
        Departure departure;
        Time hold = 0;      ///< time for which the message occupies each NIC
        bool left = false;  ///< has passed the sender's NIC
    };
    void depart(const Departure& departure, Time hold);
    void advance_flight(std::uint32_t flight, Time now);
    [[nodiscard]] Time& nic_free(Rank rank, bool out) {
        const auto node = static_cast<std::size_t>(lanes_.front().part->node_of(rank));
        const std::size_t index = 2 * node + (out ? 1 : 0);
        if (index >= nics_free_.size()) nics_free_.resize(index + 1);
        return nics_free_[index];
    }
    void add_span(Span::Kind kind, Rank rank, Rank peer, Time begin, Time end) const {
        if (trace_ && end > begin) trace_({kind, rank, peer, begin, end});
    }

    const SimulationInputs& inputs_;
    const Trace& trace_;
    Time busy_base_;
    Rank ranks_;
    std::vector<LaneState> lanes_;
    std::vector<Clock> clocks_;  ///< for each rank
    TimeQueue<PossibleAction> possible_;
    Board arrivals_;
    Board waiting_;  ///< for each awaited (rank, key): the waiting lane instead of a time
    /// Time in which the receiver processes the bytes of an arrival.
    std::optional<Board> works_;
    std::optional<Crossings> crossings_;             ///< set for models with two-way costs
    std::unordered_map<std::uint64_t, Time> cells_;  ///< times of published cells, by cell()
    std::unordered_multimap<std::uint64_t, std::uint32_t> readers_;  ///< waiting lanes, by cell
    std::vector<Flight> flights_;
    std::vector<std::uint32_t> free_flights_;  ///< indices of flights_ that can be used again
    /// Times at which NICs are free: for each node, of arriving and of departing messages.
    std::vector<Time> nics_free_;
    std::unordered_set<std::uint64_t> own_messages_;  ///< of ranks to themselves, by cell()
    std::uint64_t raises_ = 0;
    std::uint64_t waits_ = 0;
};

template <class Send>
void Processors::step(Send send) {
    const PossibleAction next = possible_.top();
    possible_.pop();
    if (next.lane >= lanes_.size()) {
        advance_flight(next.lane - static_cast<std::uint32_t>(lanes_.size()), next.time);
        return;
    }
    LaneState& state = lanes_[next.lane];
    if (state.phase == Phase::receiving) {
        receive_one(next, state);
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
        const Time hold = state.part->costs()[state.at[1]].hold;
        const Departure message = send_next(state);
        state.ready = clock.now;
        queue_next(next.lane);
        if (hold > 0)
            depart(message, hold);
        else
            send(message);
        return;
    }
    state.ready = clock.now;
    queue_next(next.lane);
}

}  // namespace weft::lab
