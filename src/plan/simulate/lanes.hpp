// SPDX-License-Identifier: BSD-3-Clause
// lanes.hpp - runs the lanes of an image, each as far as what has arrived allows.
//
// Idea     A lane stops at a reception of which something is missing and notes the first key that is.
//          Whoever delivers that key takes the lane up again. What becomes of a message between its
//          departure and its arrival is the engine's matter.
// Next     generic.cpp delivers at once; events.cpp in the order of time.
#pragma once

#include <limits>
#include <unordered_map>
#include <vector>

#include "plan/simulate/board.hpp"
#include "plan/simulate/simulate.hpp"

namespace weft::plan {

/// A message as it leaves its sender.
struct Departure {
    Rank source = 0;
    Rank target = 0;
    std::uint32_t key = 0;
    Time left = 0;       ///< when the sender is through with it
    Time arrives = 0;    ///< if nothing is in its way
    Time occupancy = 0;  ///< how long its bytes take on a link
};

class Lanes {
  public:
    Lanes(std::span<const ImagePart> parts, const Surroundings& surroundings, const Trace& trace);

    [[nodiscard]] std::size_t count() const { return states_.size(); }
    [[nodiscard]] std::uint64_t raises() const { return raises_; }
    [[nodiscard]] std::uint64_t waits() const { return waits_; }
    [[nodiscard]] Rank ranks() const { return ranks_; }

    /// Runs a lane until it ends or misses something; calls send(Departure) for each message.
    template <class Send>
    void run(std::uint32_t index, Send send);

    /// Notes an arrival. Calls ready(lane) for the lane that it lets go on, if any.
    template <class Ready>
    void deliver(Rank target, std::uint32_t key, Time time, Ready ready) {
        arrivals_.set(target, key, time);
        const auto rank = static_cast<std::size_t>(target);
        for (std::uint32_t lane = first_lane(rank); lane < first_lane(rank + 1); ++lane) {
            if (missing_[lane] != key) continue;
            missing_[lane] = kNothing;
            ready(lane);
        }
    }
    /// Lanes that wait for cells which have been published since the last call.
    [[nodiscard]] std::vector<std::uint32_t>& woken() { return woken_; }

    /// The times of the ranks; a failure if some lane is still waiting.
    [[nodiscard]] base::Result<Outcome> outcome() const;

  private:
    static constexpr std::uint32_t kNothing = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::uint32_t kCell = kNothing - 1;  ///< missing a published cell

    struct State {
        const std::uint32_t* at = nullptr;
        const Time* times = nullptr;
        Clock clock;
        Time busy = 0;
        Rank rank = 0;
        std::uint32_t lane = 0;
        std::uint32_t waits = 0;  ///< receptions so far
        bool done = false;
    };

    [[nodiscard]] std::uint32_t first_lane(std::size_t rank) const {
        return lane_starts_.empty() ? static_cast<std::uint32_t>(rank) : lane_starts_[rank];
    }
    /// Receives all that the words name, or none of it if something is missing.
    bool receive(std::uint32_t index, std::uint32_t count);
    bool collect(State& state, std::uint32_t index, std::uint32_t count);
    void publish(State& state, std::uint32_t key);
    [[nodiscard]] static std::uint64_t cell(Rank owner, std::uint32_t key) {
        return static_cast<std::uint64_t>(owner) << 32 | key;
    }

    const Surroundings& around_;
    const Trace& trace_;
    Time busy_base_;
    std::vector<State> states_;
    /// Per lane: the key that it stopped at. Apart, since every message looks here.
    std::vector<std::uint32_t> missing_;
    std::vector<std::uint32_t> lane_starts_;  ///< empty: one lane for each rank
    Rank ranks_ = 0;
    std::uint64_t raises_ = 0;
    std::uint64_t waits_ = 0;
    Board arrivals_;
    std::unordered_map<std::uint64_t, Time> cells_;
    std::unordered_multimap<std::uint64_t, std::uint32_t> readers_;  ///< waiting lanes by cell
    std::vector<std::uint32_t> woken_;
    std::vector<Time> received_;
    const std::uint32_t* behind_ = nullptr;  ///< the word behind the last reception
};

template <class Send>
void Lanes::run(std::uint32_t index, Send send) {
    State& state = states_[index];
    while (true) {
        const std::uint32_t word = *state.at;
        const std::uint32_t argument = word >> 3;
        switch (static_cast<Word>(word & 7)) {
            case Word::busy:
                state.busy = state.times[argument];
                ++state.at;
                break;
            case Word::send: {
                const auto peer = static_cast<Rank>(state.at[1]);
                const Time begin = std::max(state.clock.now, state.clock.send_free);
                const Time arrives =
                    state.clock.send(around_.model, state.busy, around_.latency(state.rank, peer));
                if (trace_) {
                    trace_({Span::Kind::send, state.rank, peer, begin, state.clock.now});
                    trace_({Span::Kind::flight, state.rank, peer, state.clock.now, arrives});
                }
                send(Departure{state.rank, peer, argument, state.clock.now, arrives,
                               state.busy - busy_base_});
                state.at += 2;
                break;
            }
            case Word::publish:
                publish(state, argument);
                ++state.at;
                break;
            case Word::receive:
                if (!receive(index, argument)) return;
                break;
            case Word::compute: {
                const Time begin = state.clock.now;
                state.clock.now += state.times[argument];
                if (trace_)
                    trace_({Span::Kind::compute, state.rank, kNoRank, begin, state.clock.now});
                ++state.at;
                break;
            }
            case Word::end:
                state.done = true;
                return;
        }
    }
}

}  // namespace weft::plan
