// SPDX-License-Identifier: BSD-3-Clause
#include "run/execute/recorder.hpp"

#include <algorithm>
#include <bit>

namespace weft::run {

Recorder::Recorder(Rank ranks, std::size_t events_max)
    : events_max_(events_max), waited_ns_(static_cast<std::size_t>(ranks)) {
    ring_.reserve(events_max);
}

std::uint32_t Recorder::line_of(const BoundProgram& program) {
    const std::uint64_t bytes = program.elements * program.element_bytes;
    const plan::Program& source = program.program;
    const std::uint64_t bytes_class = bytes == 0 ? 0 : std::bit_floor(bytes);
    const auto [at, is_new] =
        lines_by_name_.try_emplace({source.collective, source.algorithm, bytes_class},
                                   static_cast<std::uint32_t>(lines_.size()));
    if (is_new) lines_.push_back({source.collective, source.algorithm, bytes_class});
    return at->second;
}

std::uint32_t Recorder::name_of(const BoundProgram& program) {
    const std::string& name =
        names_.size() < kNames ? program.description : program.program.collective;
    const auto [at, is_new] =
        numbers_of_names_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return at->second;
}

Recorder::Known Recorder::known(const BoundProgram& program) {
    const auto found = known_.find(&program);
    if (found != known_.end()) return found->second;
    return known_.emplace(&program, Known{line_of(program), name_of(program)}).first->second;
}

Recorder::Open Recorder::begin(const BoundProgram& program, bool blocking) {
    const Known call = known(program);
    return {now(), calls_++, call.line, call.name, blocking};
}

void Recorder::end(const Open& call, std::uint32_t team, std::int64_t epoch) {
    const std::uint64_t end_ns = now();
    CallSums& sums = lines_[call.line];
    ++sums.calls;
    sums.time_ns += end_ns - call.begun_ns;
    keep({.begin_ns = call.begun_ns,
          .end_ns = end_ns,
          .bytes = static_cast<std::uint64_t>(epoch),
          .call = call.number,
          .step = call.name,
          .lane = static_cast<std::uint16_t>(team),
          .deed = call.blocking ? Deed::call : Deed::started});
}

void Recorder::add(const Open& call, Event event) {
    event.call = call.number;
    CallSums& sums = lines_[call.line];
    const std::uint64_t took_ns = event.end_ns - event.begin_ns;
    switch (event.deed) {
        case Deed::wait:
            sums.waited_ns += took_ns;
            if (event.peer >= 0) waited_ns_[static_cast<std::size_t>(event.peer)] += took_ns;
            break;
        case Deed::flush:
            sums.waited_ns += took_ns;
            flushed_ns_ += took_ns;
            break;
        case Deed::put:
        case Deed::publish:
            (event.far ? sums.far_bytes : sums.put_bytes) += event.bytes;
            break;
        default:
            break;
    }
    keep(event);
}

void Recorder::keep(const Event& event) {
    if (events_max_ == 0) return;
    if (ring_.size() < events_max_)
        ring_.push_back(event);
    else
        ring_[kept_ % events_max_] = event;
    ++kept_;
}

std::vector<Event> Recorder::events() const {
    std::vector<Event> ordered = ring_;
    if (kept_ > ring_.size())
        std::ranges::rotate(ordered,
                            ordered.begin() + static_cast<std::ptrdiff_t>(kept_ % events_max_));
    return ordered;
}

}  // namespace weft::run
