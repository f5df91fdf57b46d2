// SPDX-License-Identifier: BSD-3-Clause
// allocator.hpp - which offsets of the symmetric heap are taken.
//
// Idea     First fit over the free ranges in order of offset; neighbours grow together again when
//          freed. It hands out offsets and never touches memory.
// Why      Members of a team agree on an offset: each asks for the lowest one that fits here, from
//          some offset on, and takes it once all have the same (run/runtime/symmetric_heap.hpp).
//          First fit keeps the heap dense at its start, so few pages of the sparse segment are ever
//          touched.
// Holds    Deterministic: offsets depend on the sequence of calls alone; a call that fails changes
//          nothing. Blocks begin and end on cache lines: flags in different blocks never share one.
// Next     link/shared for the memory behind the offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/result.hpp"

namespace weft::link {

/// Blocks are multiples of this and aligned to at least this.
inline constexpr std::uint64_t kHeapGranule = 64;
/// No offset: there is no room.
inline constexpr std::uint64_t kNoOffset = ~std::uint64_t{0};

struct HeapRange {
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
};

struct HeapRequest {
    std::uint64_t bytes = 0;                 ///< 0 gives a block of its own, too
    std::uint64_t alignment = kHeapGranule;  ///< power of two; of the offset
};

struct HeapStatistics {
    std::uint64_t bytes_total = 0;
    std::uint64_t bytes_used = 0;          ///< in whole granules
    std::uint64_t bytes_free_largest = 0;  ///< the largest piece that is free in one
    std::uint64_t blocks = 0;
    std::uint64_t free_ranges = 0;

    friend bool operator==(const HeapStatistics&, const HeapStatistics&) = default;
};

class HeapAllocator {
  public:
    /// Hands out offsets within the range; its ends are moved inwards to granules.
    explicit HeapAllocator(HeapRange range);

    /// The lowest offset from `from` on where such a block fits now; kNoOffset if there is none.
    /// The alignment is a power of two.
    [[nodiscard]] std::uint64_t find(HeapRequest request, std::uint64_t from) const;
    /// Makes a block at an offset that find() gave for this request.
    void take(std::uint64_t offset, HeapRequest request);

    /// Frees the block that begins at the offset; Status::argument if none does.
    [[nodiscard]] base::Result<void> free(std::uint64_t offset);

    [[nodiscard]] HeapStatistics statistics() const;

  private:
    std::map<std::uint64_t, std::uint64_t> free_;    ///< offset to bytes; never touching each other
    std::map<std::uint64_t, std::uint64_t> blocks_;  ///< offset to bytes
    HeapStatistics counts_;
};

}  // namespace weft::link
