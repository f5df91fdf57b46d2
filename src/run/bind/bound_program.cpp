// SPDX-License-Identifier: BSD-3-Clause
#include "run/bind/bound_program.hpp"

#include <algorithm>

namespace weft::run {

void TouchedBuffer::add(std::uint64_t from, std::uint64_t to) {
    if (from == to) return;
    const bool first = begin == end;
    begin = first ? from : std::min(begin, from);
    end = first ? to : std::max(end, to);
}

TouchedBuffer TouchedBuffer::joined(const TouchedBuffer& other) const {
    TouchedBuffer both = *this;
    both.add(other.begin, other.end);
    const bool read = access == base::Access::read && other.access == base::Access::read;
    both.access = read ? base::Access::read : base::Access::write;
    both.gaps = gaps || other.gaps;
    both.exposed = exposed || other.exposed;
    both.copies.count += other.copies.count;
    both.copies.bytes += other.copies.bytes;
    both.copies.at_once = std::max(copies.at_once, other.copies.at_once);
    return both;
}

std::uint32_t BoundProgram::tail_of(const plan::Lane& lane, const std::vector<bool>* near) const {
    std::uint32_t tail = lane.first;
    std::uint32_t body_end = 0;  // of the last loop
    for (std::uint32_t at = lane.first; at < lane.first + lane.count; ++at) {
        const BoundStep& step = steps[at];
        if (step.kind == plan::StepKind::loop) body_end = at + 1 + step.number;
        const bool waits = step.kind == plan::StepKind::wait && at >= body_end &&
                           (near == nullptr || (*near)[static_cast<std::size_t>(step.peer)]);
        if (!waits) tail = at + 1;
    }
    return tail;
}

}  // namespace weft::run
