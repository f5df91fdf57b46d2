// SPDX-License-Identifier: BSD-3-Clause
#include "tools/simulate/lanes.hpp"

#include <algorithm>

namespace weft::lab {

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

Lanes::Lanes(std::span<const ImagePart> parts, Rank ranks, const SimulationInputs& inputs,
             const Trace& trace)
    : inputs_(inputs),
      trace_(trace),
      busy_base_(inputs.model.busy(0)),
      ranks_(ranks),
      arrivals_(ranks_, keys_of(parts)),
      plain_(!inputs.model.blocking && inputs.takes_no_time_to_receive() &&
             !Clock::extends(inputs.model) && inputs.uniform() && !trace && arrivals_.dense()),
      extended_(Clock::extends(inputs.model)) {
    std::size_t lanes = 0;
    for (const ImagePart& part : parts) lanes += part.lanes().size();
    WEFT_CHECK(lanes <= static_cast<std::size_t>(ranks_), lanes, ranks_);
    positions_.resize(lanes);
    now_.resize(lanes);
    if (inputs.model.gap > 0) free_.resize(lanes);
    if (inputs.model.has_two_way()) {
        flights_.resize(lanes);
        crossings_.emplace(ranks_, keys_of(parts), false);
    }
    std::uint32_t index = 0;
    for (const ImagePart& part : parts) {
        if (part.lanes().empty()) continue;
        WEFT_CHECK(part.pieces().size() == ranks_, part.pieces().size(), ranks_);
        plain_ = plain_ && !part.pieces().has_cells() && !part.has_works();
        raises_ += part.raises();
        waits_ += part.waits();
        views_.push_back({index, part.lanes().data(), part.pieces().rows().data(),
                          part.pieces().words().data(), part.costs().data()});
        if (part.has_works() && !works_) works_.emplace(ranks_, keys_of(parts));
        index += static_cast<std::uint32_t>(part.lanes().size());
    }
    for (const auto& [rank, start] : inputs.starts) now_[static_cast<std::size_t>(rank)] = start;
}

void Lanes::compute(Rank rank, Time time, Clock& clock) const {
    if (trace_) trace_({Span::Kind::compute, rank, kNoRank, clock.now, clock.now + time});
    clock.now += time;
}

bool Lanes::collect(std::uint32_t index, Rank rank, const std::uint32_t* at, const Clock& clock) {
    received_.clear();
    const bool any = static_cast<Word>(*at & 7) == Word::receive_any;
    const auto stop_for = [&](std::uint32_t what) {
        if (!missing_.empty()) missing_[index] = what;
        return false;
    };
    for (std::uint32_t left = *at >> 3; left > 0; --left) {
        const std::uint32_t word = *++at;
        const std::uint32_t key = any ? word >> 1 : word;
        if (!any || (word & 1) == 0) {
            const Time arrival = arrivals_.find(rank, key);
            if (arrival < 0) return stop_for(key);
            add_received(rank, key, arrival, clock);
            continue;
        }
        const Rank owner = Pieces::ahead(rank, *++at, ranks_);
        const auto found = cells_.find(cell(owner, key));
        if (found == cells_.end()) {
            if (!missing_.empty()) readers_.emplace(cell(owner, key), index);
            return stop_for(kCell);
        }
        received_.push_back({found->second + inputs_.latency(owner, rank)});
    }
    return true;
}

/// Receives with a trace: adds a span for the wait before each message and a span for its receipt.
void Lanes::receive_traced(Rank rank, Clock& clock) {
    Time since = clock.now;
    clock.receive_all(inputs_.model, received_, [&](Time start) {
        if (inputs_.model.receive == 0) return;
        if (start > since) trace_({Span::Kind::wait, rank, kNoRank, since, start});
        trace_({Span::Kind::receive, rank, kNoRank, start, clock.now});
        since = clock.now;
    });
    if (clock.now > since) trace_({Span::Kind::wait, rank, kNoRank, since, clock.now});
}

bool Lanes::receive(std::uint32_t index, const ImageLane& lane, std::uint32_t wait,
                    const std::uint32_t* at, Clock& clock) {
    if (!collect(index, lane.rank, at, clock)) return false;
    if (trace_)
        receive_traced(lane.rank, clock);
    else
        clock.receive_all(inputs_.model, received_);
    const Time delay = inputs_.noise.delay(lane.rank, lane.lane, wait);
    if (trace_ && delay > 0)
        trace_({Span::Kind::noise, lane.rank, kNoRank, clock.now, clock.now + delay});
    clock.now += delay;
    return true;
}

/// Publishes a cell, which takes the time of one message. Readers see it one latency later.
void Lanes::publish(Rank rank, std::uint32_t key, Time busy, Clock& clock) {
    const Time begin = clock.next_send(inputs_.model);
    clock.send(inputs_.model, busy, 0);
    if (trace_) trace_({Span::Kind::send, rank, kNoRank, begin, clock.now});
    cells_[cell(rank, key)] = clock.now;
    const auto [first, last] = readers_.equal_range(cell(rank, key));
    for (auto reader = first; reader != last; ++reader) {
        missing_[reader->second] = kNothing;
        woken_.push_back(reader->second);
    }
    readers_.erase(first, last);
}

std::uint64_t Lanes::sweep(std::uint32_t first, std::uint32_t last) {
    std::uint64_t passed = 0;
    for (std::uint32_t index = first; index < last; ++index) {
        if (positions_[index] == kDone) continue;
        passed +=
            plain_ ? run_plain(index, view_of(index)) : run(index, [&](const Departure& message) {
                arrivals_.set(message.target, message.key, message.arrives);
            });
    }
    return passed;
}

std::uint32_t Lanes::run_plain(std::uint32_t index, const View& view) {
    const ImageLane& lane = view.lanes[index - view.first_lane];
    std::uint32_t position = positions_[index];
    Time now = now_[index];
    std::uint32_t passed = 0;
    while (position != kDone) {
        const std::uint32_t* const piece = view.piece(lane, position);
        if ((position & kSent) == 0) now = send_plain(view, lane.rank, piece, now);
        position |= kSent;
        const std::uint32_t* at = piece + piece[1];
        const auto word = static_cast<Word>(*at & 7);
        if (word == Word::receive) {
            const bool complete = arrivals_.narrow()
                                      ? receive_plain<Board::Narrow>(lane.rank, at, now)
                                      : receive_plain<Time>(lane.rank, at, now);
            if (!complete) break;
            now += inputs_.noise.delay(lane.rank, lane.lane, position >> 1);
            at += 1 + (*at >> 3);
        }
        const std::uint32_t* const end = piece + piece[0];
        for (++position; at < end; ++at) {
            if (static_cast<Word>(*at & 7) == Word::end)
                position = kDone;
            else
                now += view.costs[*at >> 3].time;
        }
        ++passed;
    }
    positions_[index] = position;
    now_[index] = now;
    return passed;
}

Time Lanes::send_plain(const View& view, Rank rank, const std::uint32_t* piece, Time now) {
    const auto own = static_cast<std::uint32_t>(rank);
    const auto size = static_cast<std::uint32_t>(ranks_);
    const std::uint32_t* const end = piece + piece[1];
    for (const std::uint32_t* at = piece + Pieces::kHead; at < end;) {
        const std::uint32_t argument = *at >> 3;
        if (static_cast<Word>(*at & 7) == Word::compute) {
            now += view.costs[argument].time;
            ++at;
            continue;
        }
        const Time busy = view.costs[at[1]].time;
        const Time latency = inputs_.model.latency + view.costs[at[1]].delay;
        const std::uint32_t count = at[2];
        at += 3;
        arrivals_.widen_for(now + count * busy + latency);
        const auto send_all = [&](auto* const row) {
            using Cell = std::remove_cvref_t<decltype(*row)>;
            Time entry = now + latency + 1;  // entries of a Board are the time plus one
            for (std::uint32_t i = 0; i < count; ++i) {
                const std::uint32_t to = own + at[i];
                row[to < size ? to : to - size] = static_cast<Cell>(entry += busy);
            }
        };
        if (arrivals_.narrow())
            send_all(arrivals_.row<Board::Narrow>(argument));
        else
            send_all(arrivals_.row<Time>(argument));
        now += count * busy;
        at += count;
    }
    return now;
}

template <class Cell>
bool Lanes::receive_plain(Rank rank, const std::uint32_t* at, Time& now) const {
    const std::uint32_t count = *at >> 3;
    Cell latest = 0;
    for (std::uint32_t i = 1; i <= count; ++i) {
        const Cell arrival = arrivals_.row<Cell>(at[i])[rank];
        if (arrival == 0) return false;
        latest = std::max(latest, arrival);
    }
    now = std::max(now, static_cast<Time>(latest) - 1);
    return true;
}

base::Result<Outcome> Lanes::outcome() const {
    Outcome outcome{.makespan = 0,
                    .earliest_finish = std::numeric_limits<Time>::max(),
                    .messages = raises_,
                    .events = raises_ + waits_};
    for (std::uint32_t i = 0; i < count(); ++i) {
        if (!is_done(i))
            return base::fail(
                Status::argument, "rank {} waits for an unsent message{}", i,
                missing_[i] == kCell
                    ? std::string(" (a published cell)")
                    : fmt::format(" (key {}, which is slot x segments + segment)", missing_[i]));
        outcome.makespan = std::max(outcome.makespan, now_[i]);
        outcome.earliest_finish = std::min(outcome.earliest_finish, now_[i]);
        if (inputs_.ends) outcome.ends.emplace_back(static_cast<Rank>(i), now_[i]);
    }
    return outcome;
}

}  // namespace weft::lab
