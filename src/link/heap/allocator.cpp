// SPDX-License-Identifier: BSD-3-Clause
#include "link/heap/allocator.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/check.hpp"

namespace weft::link {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

using base::round_up;

[[nodiscard]] constexpr std::uint64_t block_size(HeapRequest request) noexcept {
    return round_up(std::max<std::uint64_t>(request.bytes, 1), kHeapGranule);
}

}  // namespace

HeapAllocator::HeapAllocator(base::Extent range) {
    WEFT_CHECK(range.bytes < kMax - range.offset - kHeapGranule, range.offset, range.bytes);
    const std::uint64_t start = round_up(range.offset, kHeapGranule);
    const std::uint64_t end = range.end() / kHeapGranule * kHeapGranule;
    if (start < end) {
        free_.emplace(start, end - start);
        counts_.bytes_total = end - start;
    }
}

std::uint64_t HeapAllocator::find(HeapRequest request, std::uint64_t from) const {
    if (request.bytes > counts_.bytes_total) return kNoOffset;
    const std::uint64_t bytes = block_size(request);
    const std::uint64_t alignment = std::max(request.alignment, kHeapGranule);
    auto range = free_.upper_bound(from);
    if (range != free_.begin()) --range;
    for (; range != free_.end(); ++range) {
        const std::uint64_t end = range->first + range->second;
        const std::uint64_t start = std::max(range->first, from);
        if (start >= end) continue;
        const std::uint64_t skipped = -start & (alignment - 1);
        if (end - start >= bytes && end - start - bytes >= skipped) return start + skipped;
    }
    return kNoOffset;
}

void HeapAllocator::take(std::uint64_t offset, HeapRequest request) {
    const std::uint64_t bytes = block_size(request);
    const auto range = std::prev(free_.upper_bound(offset));
    const std::uint64_t end = range->first + range->second;
    WEFT_CHECK(range->first <= offset && end - offset >= bytes, offset, bytes, end);
    if (end != offset + bytes)
        free_.emplace_hint(std::next(range), offset + bytes, end - offset - bytes);
    if (offset != range->first)
        range->second = offset - range->first;
    else
        free_.erase(range);
    blocks_.emplace(offset, bytes);
    counts_.bytes_used += bytes;
}

base::Result<void> HeapAllocator::free(std::uint64_t offset) {
    const auto block = blocks_.find(offset);
    if (block == blocks_.end())
        return base::fail(Status::argument,
                          "free: found offset {}, expected the start of a block in use", offset);
    const std::uint64_t bytes = block->second;
    blocks_.erase(block);
    counts_.bytes_used -= bytes;

    const auto after = free_.upper_bound(offset);
    const bool joins_after = after != free_.end() && after->first == offset + bytes;
    const std::uint64_t length = bytes + (joins_after ? after->second : 0);
    if (after != free_.begin()) {
        const auto before = std::prev(after);
        if (before->first + before->second == offset) {
            before->second += length;
            if (joins_after) free_.erase(after);
            return base::Done{};
        }
    }
    const auto hint = joins_after ? free_.erase(after) : after;
    free_.emplace_hint(hint, offset, length);
    return base::Done{};
}

HeapStatistics HeapAllocator::statistics() const {
    HeapStatistics result = counts_;
    result.blocks = blocks_.size();
    result.free_ranges = free_.size();
    for (const auto& [offset, bytes] : free_)
        result.bytes_free_largest = std::max(result.bytes_free_largest, bytes);
    return result;
}

}  // namespace weft::link
