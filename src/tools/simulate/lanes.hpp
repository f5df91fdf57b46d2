// SPDX-License-Identifier: BSD-3-Clause
// lanes.hpp - runs the lanes of an image, each until it waits for a missing arrival.
//
// Idea     A lane stops at a reception with a missing message. Either the next sweep over all lanes
//          tries the lane again, or the lane is watched: it stores the first missing key, and the
//          delivery of this key resumes the lane. The engine decides what happens between departure
//          and arrival of a message.
// Why      If most lanes progress in each sweep, memory is read and written in streams, and a
//          delivery is a store. If few lanes progress, watching finds them.
// Holds    A lane stops only at receptions. Its state is the number of its piece and whether
//          the sends of the piece are done. Each rank has one lane; processors.hpp runs
//          ranks with several.
// Next     pieces.hpp for the contents of lanes; generic.cpp delivers at once;
//          tools/simulate/events.cpp delivers in order of time.
#pragma once

#include <limits>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "tools/simulate/board.hpp"
#include "tools/simulate/simulate.hpp"

namespace weft::lab {

/// Two-way costs: starts of messages, and extra times if the receiver has a message in flight, too.
class Crossings {
  public:
    Crossings(Rank ranks, std::uint32_t keys, bool by_rank)
        : begins_(ranks, keys, by_rank), extras_(ranks, keys, by_rank) {}

    void set(Rank target, std::uint32_t key, Time begin, Time extra) {
        begins_.set(target, key, begin);
        extras_.set(target, key, extra);
    }
    /// Returns the arrival of a message at this clock. `time`: the arrival without two-way costs.
    [[nodiscard]] Time arrival(const Clock& clock, Rank target, std::uint32_t key,
                               Time time) const {
        const bool crosses =
            clock.flights_begin < time && begins_.find(target, key) < clock.flights_end;
        return crosses ? time + extras_.find(target, key) : time;
    }

  private:
    Board begins_;
    Board extras_;
};

/// A message that leaves its sender.
struct Departure {
    Rank source = 0;
    Rank target = 0;
    std::uint32_t key = 0;
    Time left = 0;       ///< end of the sender's work
    Time arrives = 0;    ///< time of arrival without contention
    Time occupancy = 0;  ///< time for which the message's bytes occupy a link
};

/// Return the number of ranks in the images, and the number of their keys.
[[nodiscard]] Rank ranks_of(std::span<const ImagePart> parts);
[[nodiscard]] std::uint32_t keys_of(std::span<const ImagePart> parts);

/// Returns a number for a published cell.
[[nodiscard]] constexpr std::uint64_t cell(Rank owner, std::uint32_t key) {
    return static_cast<std::uint64_t>(owner) << 32 | key;
}

class Lanes {
  public:
    /// The images must have one lane for each rank.
    Lanes(std::span<const ImagePart> parts, Rank ranks, const SimulationInputs& inputs,
          const Trace& trace);

    [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(now_.size()); }
    [[nodiscard]] std::uint64_t raises() const { return raises_; }
    [[nodiscard]] bool is_done(std::uint32_t index) const { return positions_[index] == kDone; }

    /// Tries lanes first .. last-1 in order; messages arrive without contention. Returns the number
    /// of receptions and ends of lanes that were passed. Call it only before watch().
    std::uint64_t sweep(std::uint32_t first, std::uint32_t last);

    /// Makes stopped lanes store their missing key from now on.
    void watch() { missing_.assign(now_.size(), kNothing); }
    /// Runs a lane until it ends or a message is missing; calls send(Departure) for each message.
    /// Returns the number of receptions and ends of lanes that were passed.
    template <class Send>
    std::uint32_t run(std::uint32_t index, Send send);
    /// Stores an arrival. Calls ready(lane) if a lane waits for it.
    template <class Ready>
    void deliver(Rank target, std::uint32_t key, Time time, Ready ready) {
        arrivals_.set(target, key, time);
        const auto lane = static_cast<std::uint32_t>(target);
        if (missing_[lane] != key) return;
        missing_[lane] = kNothing;
        ready(lane);
    }
    /// Returns lanes that waited for published cells which now exist. The caller clears the list.
    [[nodiscard]] std::vector<std::uint32_t>& woken() { return woken_; }

    /// Returns the times of the ranks. Fails if a lane is still waiting.
    [[nodiscard]] base::Result<Outcome> outcome() const;

  private:
    static constexpr std::uint32_t kNothing = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::uint32_t kCell = kNothing - 1;  ///< waits for a published cell
    static constexpr std::uint32_t kDone = std::numeric_limits<std::uint32_t>::max();
    /// Bit of a position: the sends of the piece are done.
    static constexpr std::uint32_t kSent = 1;

    /// Pointers into a part, for running its lanes.
    struct View {
        std::uint32_t first_lane = 0;
        const ImageLane* lanes = nullptr;
        const std::uint32_t* rows = nullptr;
        const std::uint32_t* words = nullptr;
        const WordCosts* costs = nullptr;

        [[nodiscard]] const std::uint32_t* piece(const ImageLane& lane,
                                                 std::uint32_t position) const {
            return words + rows[lane.first + (position >> 1)];
        }
    };

    [[nodiscard]] const View& view_of(std::uint32_t index) const {
        if (views_.size() == 1) return views_.front();
        std::size_t part = views_.size() - 1;
        while (views_[part].first_lane > index) --part;
        return views_[part];
    }
    [[nodiscard]] Clock clock_of(std::uint32_t index) const {
        Clock clock{.now = now_[index], .extended = extended_};
        if (!free_.empty()) std::tie(clock.send_free, clock.receive_free) = free_[index];
        if (!flights_.empty()) std::tie(clock.flights_begin, clock.flights_end) = flights_[index];
        return clock;
    }
    void set_clock(std::uint32_t index, const Clock& clock) {
        now_[index] = clock.now;
        if (!free_.empty()) free_[index] = {clock.send_free, clock.receive_free};
        if (!flights_.empty()) flights_[index] = {clock.flights_begin, clock.flights_end};
    }
    /// Executes the words of a piece before its reception: sends, publications and computations.
    template <class Send>
    void run_actions(Rank rank, const View& view, const std::uint32_t* piece, Clock& clock,
                     Send send);
    void compute(Rank rank, Time time, Clock& clock) const;
    void receive_traced(Rank rank, Clock& clock);
    /// Receives all messages of the reception at word `at`, or none if one is missing. wait: number
    /// of earlier receptions of the lane.
    bool receive(std::uint32_t index, const ImageLane& lane, std::uint32_t wait,
                 const std::uint32_t* at, Clock& clock);
    /// Collects the arrivals of a reception in `received_`. If a message is missing, returns false,
    /// and stores its key if lanes are watched.
    bool collect(std::uint32_t index, Rank rank, const std::uint32_t* at, const Clock& clock);
    /// Adds a message to `received_`.
    void add_received(Rank rank, std::uint32_t key, Time arrival, const Clock& clock) {
        if (crossings_) arrival = crossings_->arrival(clock, rank, key, arrival);
        received_.push_back({arrival, work_of(rank, key)});
    }
    void publish(Rank rank, std::uint32_t key, Time busy, Clock& clock);
    [[nodiscard]] Time work_of(Rank rank, std::uint32_t key) const {
        return works_ ? std::max<Time>(0, works_->find(rank, key)) : 0;
    }

    /// Runs a lane for models in which only busy time, latency and computation take time.
    std::uint32_t run_plain(std::uint32_t index, const View& view);
    Time send_plain(const View& view, Rank rank, const std::uint32_t* piece, Time now);
    template <class Cell>
    [[nodiscard]] bool receive_plain(Rank rank, const std::uint32_t* at, Time& now) const;

    const SimulationInputs& inputs_;
    const Trace& trace_;
    Time busy_base_;
    std::vector<View> views_;
    std::vector<std::uint32_t> positions_;  ///< for each lane: twice its piece's number, plus kSent
    std::vector<Time> now_;
    /// By lane: members of Clock. free_ is empty without gaps, flights_ without two-way costs.
    std::vector<std::pair<Time, Time>> free_;
    std::vector<std::pair<Time, Time>> flights_;
    /// By lane: the missing key. Separate from other state, because every delivery reads it.
    /// Empty before watch().
    std::vector<std::uint32_t> missing_;
    Rank ranks_ = 0;
    std::uint64_t raises_ = 0;
    std::uint64_t waits_ = 0;
    Board arrivals_;
    bool plain_;                                     ///< run_plain() applies
    bool extended_;                                  ///< as Clock::extended
    std::unordered_map<std::uint64_t, Time> cells_;  ///< times of published cells, by cell()
    std::unordered_multimap<std::uint64_t, std::uint32_t> readers_;  ///< waiting lanes, by cell
    std::vector<std::uint32_t> woken_;
    std::optional<Board> works_;          ///< time in which the receiver processes an arrival
    std::optional<Crossings> crossings_;  ///< set for models with two-way costs
    std::vector<Arrival> received_;
};

template <class Send>
void Lanes::run_actions(Rank rank, const View& view, const std::uint32_t* piece, Clock& clock,
                        Send send) {
    const std::uint32_t* const end = piece + piece[1];
    for (const std::uint32_t* at = piece + Pieces::kHead; at < end;) {
        const std::uint32_t argument = *at >> 3;
        const auto word = static_cast<Word>(*at & 7);
        if (word == Word::compute) {
            compute(rank, view.costs[argument].time, clock);
            ++at;
            continue;
        }
        const WordCosts& costs = view.costs[at[1]];
        if (word == Word::publish) {
            publish(rank, argument, costs.time, clock);
            at += 2;
            continue;
        }
        const std::uint32_t* const last = at + 3 + at[2];
        for (at += 3; at < last; ++at) {
            const Rank peer = Pieces::ahead(rank, *at, ranks_);
            const Time begin = clock.next_send(inputs_.model);
            const Time latency = inputs_.latency(rank, peer) + costs.delay;
            const Time arrives = clock.send(inputs_.model, costs.time, latency);
            if (trace_) {
                trace_({Span::Kind::send, rank, peer, begin, clock.now});
                trace_({Span::Kind::flight, rank, peer, clock.now, arrives});
            }
            if (works_) works_->set(peer, argument, costs.work);
            if (crossings_) crossings_->set(peer, argument, begin, costs.two_way);
            send(Departure{rank, peer, argument, clock.now, arrives, costs.time - busy_base_});
        }
    }
}

template <class Send>
std::uint32_t Lanes::run(std::uint32_t index, Send send) {
    const View& view = view_of(index);
    const ImageLane& lane = view.lanes[index - view.first_lane];
    std::uint32_t position = positions_[index];
    Clock clock = clock_of(index);
    std::uint32_t passed = 0;
    while (position != kDone) {
        const std::uint32_t* const piece = view.piece(lane, position);
        if ((position & kSent) == 0) run_actions(lane.rank, view, piece, clock, send);
        position |= kSent;
        const std::uint32_t* at = piece + piece[1];
        if (static_cast<Word>(*at & 7) != Word::end) {
            if (!receive(index, lane, position >> 1, at, clock)) break;
            const bool any = static_cast<Word>(*at & 7) == Word::receive_any;
            const std::uint32_t count = *at >> 3;
            ++at;
            for (std::uint32_t i = 0; i < count; ++i) at += any && (*at & 1) != 0 ? 2 : 1;
        }
        const std::uint32_t* const end = piece + piece[0];
        for (++position; at < end; ++at) {
            if (static_cast<Word>(*at & 7) == Word::end)
                position = kDone;
            else
                compute(lane.rank, view.costs[*at >> 3].time, clock);
        }
        ++passed;
    }
    positions_[index] = position;
    set_clock(index, clock);
    return passed;
}

}  // namespace weft::lab
