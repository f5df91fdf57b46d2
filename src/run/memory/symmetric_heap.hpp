// SPDX-License-Identifier: BSD-3-Clause
// symmetric_heap.hpp - allocates memory at the same offset on all members of a team
// (docs/decisions/0019-symmetric-memory.md).
//
// Idea     Each member proposes its lowest suitable free offset in an allreduce. If the proposals
//          differ, all members repeat this with the highest proposal as the lower limit.
// Holds    A failed call has no effect on any member. Blocks belong to a team and end with it. The
//          search ends, because after each allreduce at least one member proposes a higher offset.
//          A member prepares memory for the network before it proposes the memory. Each member
//          completes its puts before the allreduce that frees a block.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "link/heap/allocator.hpp"
#include "link/shared/segment.hpp"
#include "run/memory/services.hpp"

namespace weft::run {

class SymmetricHeap {
  public:
    explicit SymmetricHeap(const MemoryServices& services)
        : services_(services),
          heap_({services.layout.heap, services.layout.heap_bytes()}),
          alignment_max_(link::alignment_of(services.layout.bytes)) {}

    /// Allocates memory at an offset that is free on all members. Collective over the team.
    [[nodiscard]] base::Result<std::byte*> allocate(Team& team, link::HeapRequest request);
    /// Frees a block. Collective over the team; returns after all members have entered.
    [[nodiscard]] base::Result<void> free(Team& team, const void* memory);
    /// Moves a block's data to a new block of another size. Collective over the team.
    [[nodiscard]] base::Result<std::byte*> reallocate(Team& team, const void* memory,
                                                      link::HeapRequest request);
    /// Marks a block as unused by this rank. Does not communicate. After all members have marked a
    /// block, the next allocate() frees it.
    void abandon(const Team& team, const void* memory);
    /// Frees all blocks of a team on this rank, when the team ends.
    void end_team(const Team& team);

    [[nodiscard]] link::HeapStatistics statistics() const { return heap_.statistics(); }

  private:
    struct Block {
        std::uint64_t team = 0;    ///< Team::serial()
        std::uint64_t number = 0;  ///< Team::next_allocation(); equal on all members
        std::uint64_t bytes = 0;   ///< requested size
    };
    using Blocks = std::map<std::uint64_t, Block>;

    [[nodiscard]] base::Result<std::uint64_t> agree(Team& team, link::HeapRequest request);
    [[nodiscard]] base::Result<void> free_block(Team& team, std::uint64_t offset);
    [[nodiscard]] Blocks::iterator find_block(const Team& team, std::uint64_t offset);
    [[nodiscard]] std::uint64_t first_abandoned(const Team& team, std::uint64_t from) const;
    void collect_abandoned();
    void remove(Blocks::iterator block);
    [[nodiscard]] std::uint64_t propose(link::HeapRequest request, std::uint64_t from);
    [[nodiscard]] base::Failure out_of_memory(const Team& team, link::HeapRequest request) const;

    const MemoryServices& services_;
    link::HeapAllocator heap_;
    /// Alignment of segments in bytes: up to it, an aligned offset is an aligned address.
    std::uint64_t alignment_max_;
    std::optional<base::Failure> unprepared_;  ///< why propose() could not prepare its last offset
    Blocks blocks_;                            ///< key: offset
    using Pair = std::pair<std::uint64_t, std::uint64_t>;
    std::map<Pair, std::uint64_t> abandoned_;  ///< offsets of abandoned blocks by team and number
    std::mutex dropped_mutex_;                 ///< protects dropped_
    std::vector<Pair> dropped_;                ///< offset and team of blocks to add to abandoned_
};

}  // namespace weft::run
