// SPDX-License-Identifier: BSD-3-Clause
#include "tools/simulate/processors.hpp"

#include <algorithm>
#include <limits>

namespace weft::lab {

bool needs_order(std::span<const ImagePart> parts) {
    return std::ranges::any_of(parts, [](const ImagePart& part) {
        return part.has_nics() || std::ranges::any_of(part.lanes(), [](const ImageLane& lane) {
                   return lane.lane > 0;
               });
    });
}

Processors::Processors(std::span<const ImagePart> parts, const SimulationInputs& inputs,
                       const Trace& trace)
    : inputs_(inputs),
      trace_(trace),
      busy_base_(inputs.model.busy(0)),
      ranks_(ranks_of(parts)),
      clocks_(static_cast<std::size_t>(ranks_), Clock{.extended = Clock::extends(inputs.model)}),
      arrivals_(ranks_, keys_of(parts), true),
      waiting_(ranks_, keys_of(parts), true) {
    for (const auto& [rank, start] : inputs.starts)
        clocks_[static_cast<std::size_t>(rank)].now = start;
    if (inputs.model.has_two_way()) crossings_.emplace(ranks_, keys_of(parts), true);
    for (const ImagePart& part : parts) {
        if (part.has_works() && !works_) works_.emplace(ranks_, keys_of(parts), true);
        raises_ += part.raises();
        waits_ += part.waits();
        lanes_.reserve(lanes_.size() + part.lanes().size());
        for (const ImageLane& lane : part.lanes()) {
            LaneState state{.part = &part, .lane = lane, .row = lane.first};
            state.ready = clocks_[static_cast<std::size_t>(lane.rank)].now;
            state.at = piece_of(state) + Pieces::kHead;
            lanes_.push_back(state);
        }
    }
    for (std::uint32_t index = 0; index < lanes_.size(); ++index) queue_next(index);
}

void Processors::run_ahead() {
    if (trace_ || !inputs_.uniform()) return;
    constexpr Time kNever = std::numeric_limits<Time>::max();
    Time least = kNever;  // minimum time from a rank's send to the arrival of the message
    const ImagePart* part = nullptr;
    std::vector<std::uint32_t> rank_of;
    for (const LaneState& state : lanes_) {
        rank_of.push_back(static_cast<std::uint32_t>(state.lane.rank));
        if (state.part == part) continue;
        part = state.part;
        if (part->has_nics()) return;
        for (const WordCosts& costs : part->costs())
            least = std::min(least, costs.time + costs.delay + inputs_.model.latency);
    }
    if (least == kNever || least <= 0) return;
    possible_.order_by_owner(least, std::move(rank_of));
}

void Processors::queue_next(std::uint32_t index) {
    LaneState& state = lanes_[index];
    if (state.run != nullptr) {
        possible_.push({state.ready, index});
        return;
    }
    const std::uint32_t* const piece = piece_of(state);
    if (state.at == piece + piece[0]) {
        ++state.row;
        state.at = piece_of(state) + Pieces::kHead;
    }
    switch (static_cast<Word>(*state.at & 7)) {
        case Word::end:
            state.phase = Phase::done;
            return;
        case Word::receive:
        case Word::receive_any:
            begin_reception(index);
            return;
        case Word::send:
            state.run = state.at + 3;
            state.left = state.at[2];
            [[fallthrough]];
        default:
            possible_.push({state.ready, index});
    }
}

void Processors::begin_reception(std::uint32_t index) {
    LaneState& state = lanes_[index];
    state.phase = Phase::receiving;
    const bool any = static_cast<Word>(*state.at & 7) == Word::receive_any;
    state.left = *state.at++ >> 3;
    for (std::uint32_t i = 0; i < state.left; ++i) {
        const std::uint32_t word = *state.at++;
        if (!any)
            await(index, word);
        else if ((word & 1) == 0)
            await(index, word >> 1);
        else
            await_cell(index, Pieces::ahead(state.lane.rank, *state.at++, ranks_), word >> 1);
    }
}

void Processors::await(std::uint32_t index, std::uint32_t key) {
    const LaneState& state = lanes_[index];
    const Time arrival = arrivals_.find(state.lane.rank, key);
    if (arrival < 0)
        waiting_.set(state.lane.rank, key, index);
    else
        possible_.push({std::max(state.ready, arrival), index, key});
}

void Processors::await_cell(std::uint32_t index, Rank owner, std::uint32_t key) {
    const LaneState& state = lanes_[index];
    const auto found = cells_.find(cell(owner, key));
    if (found == cells_.end())
        readers_.emplace(cell(owner, key), index);
    else
        possible_.push(
            {std::max(state.ready, found->second + inputs_.latency(owner, state.lane.rank)),
             index});
}

void Processors::arrive(Rank target, std::uint32_t key, Time time) {
    arrivals_.set(target, key, time);
    const Time lane = waiting_.find(target, key);
    if (lane < 0) return;
    const auto index = static_cast<std::uint32_t>(lane);
    possible_.push({std::max(lanes_[index].ready, time), index, key});
}

/// Receives one message of a reception; after the last one the lane continues.
void Processors::receive_one(const PossibleAction& message, LaneState& state) {
    Clock& clock = clock_of(state);
    const Rank rank = state.lane.rank;
    const Time begin = std::max(clock.now, message.time);
    const bool works = works_ && message.key != kNoKey;
    const Time work = works ? std::max<Time>(0, works_->find(rank, message.key)) : 0;
    Time arrival = message.time;
    if (crossings_ && message.key != kNoKey)
        arrival = std::max(arrival, crossings_->arrival(clock, rank, message.key,
                                                        arrivals_.find(rank, message.key)));
    const bool from_itself =
        !own_messages_.empty() && own_messages_.contains(cell(rank, message.key));
    const Time start = from_itself ? begin : clock.receive(inputs_.model, Arrival{arrival, work});
    if (from_itself) clock.now = begin;
    add_span(Span::Kind::wait, rank, kNoRank, begin, start);
    add_span(Span::Kind::receive, rank, kNoRank, start, clock.now);
    if (--state.left > 0) return;
    const Time delay = inputs_.noise.delay(rank, state.lane.lane, state.waits++);
    add_span(Span::Kind::noise, rank, kNoRank, clock.now, clock.now + delay);
    clock.now += delay;
    state.phase = Phase::acting;
    state.ready = clock.now;
    queue_next(message.lane);
}

void Processors::compute(LaneState& state) {
    Clock& clock = clock_of(state);
    const Time time = state.part->costs()[*state.at++ >> 3].time;
    add_span(Span::Kind::compute, state.lane.rank, kNoRank, clock.now, clock.now + time);
    clock.now += time;
}

/// Publishes a cell, which takes the time of one message. Readers see it one latency later.
void Processors::publish(LaneState& state) {
    Clock& clock = clock_of(state);
    const Rank rank = state.lane.rank;
    const std::uint64_t place = cell(rank, *state.at >> 3);
    const Time begin = clock.next_send(inputs_.model);
    const Time busy = state.part->costs()[state.at[1]].time;
    clock.send(inputs_.model, busy, 0);
    state.at += 2;
    add_span(Span::Kind::send, rank, kNoRank, begin, clock.now);
    cells_[place] = clock.now;
    const auto [first, last] = readers_.equal_range(place);
    for (auto reader = first; reader != last; ++reader) {
        const LaneState& waiting = lanes_[reader->second];
        const Time arrival = clock.now + inputs_.latency(rank, waiting.lane.rank);
        possible_.push({std::max(waiting.ready, arrival), reader->second});
    }
    readers_.erase(first, last);
}

Departure Processors::send_next(LaneState& state) {
    Clock& clock = clock_of(state);
    const Rank rank = state.lane.rank;
    const Rank peer = Pieces::ahead(rank, *state.run, ranks_);
    const std::uint32_t key = *state.at >> 3;
    const WordCosts& costs = state.part->costs()[state.at[1]];
    ++state.run;
    if (--state.left == 0) {
        state.at = state.run;
        state.run = nullptr;
    }
    if (peer == rank) {  // between lanes: takes no time
        own_messages_.insert(cell(rank, key));
        return {rank, peer, key, clock.now, clock.now, 0};
    }
    const Time begin = clock.next_send(inputs_.model);
    const Time arrives =
        clock.send(inputs_.model, costs.time, inputs_.latency(rank, peer) + costs.delay);
    add_span(Span::Kind::send, rank, peer, begin, clock.now);
    add_span(Span::Kind::flight, rank, peer, clock.now, arrives);
    if (works_) works_->set(peer, key, costs.work);
    if (crossings_) crossings_->set(peer, key, begin, costs.two_way);
    return {rank, peer, key, clock.now, arrives, costs.time - busy_base_};
}

void Processors::depart(const Departure& departure, Time hold) {
    std::uint32_t flight = 0;
    if (free_flights_.empty()) {
        flight = static_cast<std::uint32_t>(flights_.size());
        flights_.emplace_back();
    } else {
        flight = free_flights_.back();
        free_flights_.pop_back();
    }
    flights_[flight] = {departure, hold, false};
    possible_.push({departure.left, flight + static_cast<std::uint32_t>(lanes_.size())});
}

/// Moves a message to its next NIC. Transfer is cut-through: a message enters each of the two NICs
/// as soon as the NIC is free, and the latency is added at the end.
void Processors::advance_flight(std::uint32_t flight, Time now) {
    Flight& message = flights_[flight];
    const Departure& departure = message.departure;
    Time& free = nic_free(message.left ? departure.target : departure.source, !message.left);
    const Time enters = std::max(now, free);
    free = enters + message.hold;
    if (!message.left) {
        message.left = true;
        possible_.push({enters, flight + static_cast<std::uint32_t>(lanes_.size())});
        return;
    }
    const Departure arrived = departure;
    free_flights_.push_back(flight);
    arrive(arrived.target, arrived.key, enters + arrived.arrives - arrived.left);
}

base::Result<Outcome> Processors::outcome() const {
    for (const LaneState& state : lanes_)
        if (state.phase != Phase::done)
            return base::fail(Status::argument, "rank {} lane {} waits for an unsent message",
                              state.lane.rank, state.lane.lane);
    Outcome outcome{.earliest_finish = std::numeric_limits<Time>::max(),
                    .messages = raises_ - own_messages_.size(),
                    .events = raises_ + waits_};
    for (const Clock& clock : clocks_) {
        outcome.makespan = std::max(outcome.makespan, clock.now);
        outcome.earliest_finish = std::min(outcome.earliest_finish, clock.now);
        if (inputs_.ends)
            outcome.ends.emplace_back(static_cast<Rank>(outcome.ends.size()), clock.now);
    }
    return outcome;
}

}  // namespace weft::lab
