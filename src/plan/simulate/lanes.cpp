// SPDX-License-Identifier: BSD-3-Clause
#include "plan/simulate/lanes.hpp"

#include <algorithm>

namespace weft::plan {

namespace {

std::uint32_t keys_of(std::span<const ImagePart> parts) {
    std::uint32_t keys = 0;
    for (const ImagePart& part : parts) keys = std::max(keys, part.keys());
    return keys;
}

Rank ranks_of(std::span<const ImagePart> parts) {
    Rank ranks = 0;
    for (const ImagePart& part : parts)
        if (!part.lanes().empty()) ranks = std::max(ranks, part.lanes().back().rank + 1);
    return ranks;
}

}  // namespace

Lanes::Lanes(std::span<const ImagePart> parts, const Surroundings& surroundings, const Trace& trace)
    : around_(surroundings),
      trace_(trace),
      busy_base_(surroundings.model.busy(0)),
      ranks_(ranks_of(parts)),
      arrivals_(ranks_, keys_of(parts)) {
    std::size_t lanes = 0;
    for (const ImagePart& part : parts) lanes += part.lanes().size();
    const bool several = lanes != static_cast<std::size_t>(ranks_);
    states_.reserve(lanes);
    for (const ImagePart& part : parts) {
        raises_ += part.raises();
        waits_ += part.waits();
        for (const ImageLane& lane : part.lanes()) {
            if (several && lane.lane == 0)
                lane_starts_.push_back(static_cast<std::uint32_t>(states_.size()));
            State& state = states_.emplace_back();
            state.at = part.words().data() + lane.first;
            state.times = part.times().data();
            state.rank = lane.rank;
            state.lane = lane.lane;
        }
    }
    if (several) lane_starts_.push_back(static_cast<std::uint32_t>(states_.size()));
    missing_.assign(lanes, kNothing);
    for (const auto& [rank, start] : surroundings.starts) {
        const auto at = static_cast<std::size_t>(rank);
        for (std::uint32_t i = first_lane(at); i < first_lane(at + 1); ++i)
            states_[i].clock.now = start;
    }
}

bool Lanes::collect(State& state, std::uint32_t index, std::uint32_t count) {
    received_.clear();
    const std::uint32_t* word = state.at + 1;
    for (std::uint32_t i = 0; i < count; ++i, ++word) {
        const std::uint32_t key = *word >> 1;
        if ((*word & 1) == 0) {
            const Time arrival = arrivals_.find(state.rank, key);
            if (arrival < 0) {
                missing_[index] = key;
                return false;
            }
            received_.push_back(arrival);
            continue;
        }
        const auto owner = static_cast<Rank>(*++word);
        const auto found = cells_.find(cell(owner, key));
        if (found == cells_.end()) {
            missing_[index] = kCell;
            readers_.emplace(cell(owner, key), index);
            return false;
        }
        received_.push_back(found->second + around_.latency(owner, state.rank));
    }
    behind_ = word;
    return true;
}

bool Lanes::receive(std::uint32_t index, std::uint32_t count) {
    State& state = states_[index];
    if (!collect(state, index, count)) return false;
    const Time begin = state.clock.now;
    state.clock.receive_all(around_.model, received_);
    const Time delay = around_.noise.delay(state.rank, state.lane, state.waits++);
    if (trace_) {
        trace_({Span::Kind::receive, state.rank, kNoRank, begin, state.clock.now});
        if (delay > 0)
            trace_(
                {Span::Kind::noise, state.rank, kNoRank, state.clock.now, state.clock.now + delay});
    }
    state.clock.now += delay;
    state.at = behind_;
    return true;
}

/// A store that readers see a latency later; it takes the time of one message.
void Lanes::publish(State& state, std::uint32_t key) {
    const Time begin = std::max(state.clock.now, state.clock.send_free);
    state.clock.send(around_.model, state.busy, 0);
    if (trace_) trace_({Span::Kind::send, state.rank, kNoRank, begin, state.clock.now});
    cells_[cell(state.rank, key)] = state.clock.now;
    const auto [first, last] = readers_.equal_range(cell(state.rank, key));
    for (auto reader = first; reader != last; ++reader) {
        missing_[reader->second] = kNothing;
        woken_.push_back(reader->second);
    }
    readers_.erase(first, last);
}

base::Result<Outcome> Lanes::outcome() const {
    Outcome outcome{.makespan = 0,
                    .earliest_finish = std::numeric_limits<Time>::max(),
                    .messages = raises_,
                    .events = raises_ + waits_};
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks_); ++rank) {
        Time finish = 0;
        for (std::uint32_t i = first_lane(rank); i < first_lane(rank + 1); ++i) {
            const State& state = states_[i];
            if (!state.done)
                return base::fail(
                    Status::argument, "rank {} lane {} waits for what nobody sends{}", state.rank,
                    state.lane,
                    missing_[i] == kCell
                        ? std::string(" (a published cell)")
                        : fmt::format(" (entry {} of its numbers and segments)", missing_[i]));
            finish = std::max(finish, state.clock.now);
        }
        outcome.makespan = std::max(outcome.makespan, finish);
        outcome.earliest_finish = std::min(outcome.earliest_finish, finish);
    }
    return outcome;
}

}  // namespace weft::plan
