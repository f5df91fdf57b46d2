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
    both.access = std::max(access, other.access);
    both.gaps = gaps || other.gaps;
    both.exposed = exposed || other.exposed;
    both.copies.count += other.copies.count;
    both.copies.bytes += other.copies.bytes;
    return both;
}

std::uint32_t BoundProgram::slot_at(std::uint64_t offset) const {
    if (slot_starts.empty()) return static_cast<std::uint32_t>(offset / slot_bytes);
    const auto next = std::ranges::upper_bound(slot_starts, offset);
    const auto number = static_cast<std::uint32_t>(next - slot_starts.begin()) - 1;
    if (number + 1 >= slot_starts.size()) return number * depth;
    const std::uint64_t copy_bytes = (slot_starts[number + 1] - slot_starts[number]) / depth;
    return number * depth + static_cast<std::uint32_t>((offset - slot_starts[number]) / copy_bytes);
}

}  // namespace weft::run
