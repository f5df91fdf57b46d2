// SPDX-License-Identifier: BSD-3-Clause
// allocator.hpp - allocation of offsets in the symmetric heap.
//
// Idea     First fit over the free ranges in order of offset. Freed neighbours are merged. The
//          allocator returns offsets and never touches memory.
// Why      Members of a team must allocate a block at equal offsets. Each member finds its lowest
//          suitable offset, not below a common limit. If the results differ, all members repeat the
//          search with the highest result as the limit (run/memory/symmetric_heap.hpp). First fit
//          keeps the heap dense at its start, so few pages of the sparse segment are touched.
// Holds    Offsets depend only on the sequence of calls. A call that fails changes nothing. Blocks
//          begin and end on cache lines, so flags in different blocks never share a line.
#pragma once

#include <cstdint>
#include <map>

#include "base/extent.hpp"
#include "base/result.hpp"

namespace weft::link {

/// Sizes and offsets of blocks are multiples of this number of bytes: a cache line.
inline constexpr std::uint64_t kHeapGranule = 64;
/// Result of HeapAllocator::find() if no free range has room for the block.
inline constexpr std::uint64_t kNoOffset = ~std::uint64_t{0};

struct HeapRequest {
    std::uint64_t bytes = 0;                 ///< 0: the block has one granule
    std::uint64_t alignment = kHeapGranule;  ///< alignment of the offset; a power of two
};

struct HeapStatistics {
    std::uint64_t bytes_total = 0;
    std::uint64_t bytes_used = 0;          ///< bytes of blocks in use, in whole granules
    std::uint64_t bytes_free_largest = 0;  ///< size of the largest free range
    std::uint64_t blocks = 0;              ///< number of blocks in use
    std::uint64_t free_ranges = 0;         ///< number of free ranges

    friend bool operator==(const HeapStatistics&, const HeapStatistics&) = default;
};

class HeapAllocator {
  public:
    /// Manages the offsets within the range, which is reduced to whole granules.
    explicit HeapAllocator(base::Extent range);

    /// Returns the lowest offset, not below `from`, at which the block fits now, or kNoOffset.
    [[nodiscard]] std::uint64_t find(HeapRequest request, std::uint64_t from) const;
    /// Allocates a block at an offset that find() returned for this request.
    void take(std::uint64_t offset, HeapRequest request);

    /// Frees the block that begins at the offset. Fails with Status::argument if no block does.
    base::Result<void> free(std::uint64_t offset);

    [[nodiscard]] HeapStatistics statistics() const;

  private:
    std::map<std::uint64_t, std::uint64_t> free_;    ///< offset and bytes of free ranges; merged
    std::map<std::uint64_t, std::uint64_t> blocks_;  ///< offset and bytes of blocks in use
    HeapStatistics counts_;                          ///< only bytes_total and bytes_used are set
};

}  // namespace weft::link
