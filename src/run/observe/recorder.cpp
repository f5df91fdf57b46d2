// SPDX-License-Identifier: BSD-3-Clause
#include "run/observe/recorder.hpp"

#include <algorithm>
#include <bit>

#include "base/clock.hpp"

namespace weft::run {

Recorder::Recorder(Rank ranks, std::size_t events_max)
    : events_max_(events_max), waited_ns_(static_cast<std::size_t>(ranks)) {
    ring_.reserve(events_max);
}

std::uint32_t Recorder::kind_of(const RecordedCall& call) {
    const std::uint64_t bytes_class = call.bytes == 0 ? 0 : std::bit_floor(call.bytes);
    const auto found = std::ranges::find_if(sums_, [&](const CallSums& sums) {
        return sums.collective == call.collective && sums.algorithm == call.algorithm &&
               sums.bytes_class == bytes_class;
    });
    const auto number = static_cast<std::uint32_t>(found - sums_.begin());
    if (found == sums_.end())
        sums_.push_back({std::string(call.collective), std::string(call.algorithm), bytes_class});
    return number;
}

std::uint32_t Recorder::name_of(const RecordedCall& call) {
    const std::string name(names_.size() < kNames ? call.description : call.collective);
    const auto [at, is_new] =
        numbers_of_names_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return at->second;
}

Recorder::KindAndName Recorder::known(const RecordedCall& call) {
    const auto found = known_.find(call.program);
    if (found != known_.end()) return found->second;
    return known_.emplace(call.program, KindAndName{kind_of(call), name_of(call)}).first->second;
}

Recorder::Open Recorder::begin(const RecordedCall& call, bool blocking) {
    const auto [kind, name] = known(call);
    return {base::monotonic_ns(), calls_++, kind, name, blocking};
}

void Recorder::end(const Open& call, std::uint32_t team, std::int64_t epoch) {
    const std::uint64_t end_ns = base::monotonic_ns();
    CallSums& sums = sums_[call.kind];
    ++sums.calls;
    sums.time_ns += end_ns - call.begun_ns;
    keep({.begin_ns = call.begun_ns,
          .end_ns = end_ns,
          .bytes = static_cast<std::uint64_t>(epoch),
          .call = call.number,
          .step = call.name,
          .lane = static_cast<std::uint16_t>(team),
          .kind = call.blocking ? EventKind::call : EventKind::started});
}

void Recorder::add(const Open& call, RecordedEvent event) {
    event.call = call.number;
    CallSums& sums = sums_[call.kind];
    const std::uint64_t took_ns = event.end_ns - event.begin_ns;
    switch (event.kind) {
        case EventKind::wait:
            sums.waited_ns += took_ns;
            if (event.peer >= 0) waited_ns_[event.peer] += took_ns;
            break;
        case EventKind::flush:
            sums.waited_ns += took_ns;
            flushed_ns_ += took_ns;
            break;
        case EventKind::put:
        case EventKind::publish:
            (event.far ? sums.far_bytes : sums.put_bytes) += event.bytes;
            break;
        default:
            break;
    }
    keep(event);
}

void Recorder::keep(const RecordedEvent& event) {
    if (events_max_ == 0) return;
    if (ring_.size() < events_max_)
        ring_.push_back(event);
    else
        ring_[kept_ % events_max_] = event;
    ++kept_;
}

std::vector<RecordedEvent> Recorder::events() const {
    std::vector<RecordedEvent> ordered = ring_;
    if (kept_ > ring_.size())
        std::ranges::rotate(ordered,
                            ordered.begin() + static_cast<std::ptrdiff_t>(kept_ % events_max_));
    return ordered;
}

}  // namespace weft::run
