// SPDX-License-Identifier: BSD-3-Clause
// symmetric_heap.hpp - memory that has the same offset on all members of a team.
//
// Idea     Members may belong to several teams, so their heaps may differ. They agree by calls of
//          the team. Each member proposes its lowest free offset, and the search continues at the
//          highest proposal. When all proposals are equal, the members allocate that offset. Equal
//          heaps agree at once. A member prepares the memory before it proposes it, so agreed
//          memory can be used at once.
// Why      The same exchange shows whether all members request the same size. So disagreements and
//          a full heap are reported on all members (docs/decisions/0019-symmetric-memory.md).
// Holds    A call that fails changes nothing on any member. Blocks belong to one team and end with
//          it. The number of exchanges is bounded, because each passes a free range of some member.
//          Puts into a block are complete before it is freed: each caller completes its puts before
//          the exchange that frees.
// Next     link/heap for the offsets of one rank; team.hpp for the callers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/result.hpp"
#include "link/heap/allocator.hpp"

namespace weft::run {

class Team;

class SymmetricHeap {
  public:
    /// Prepares memory at an offset for all members of a team. A network may register it.
    using Prepare = std::function<base::Result<void>(std::uint64_t offset, std::uint64_t bytes)>;

    /// Every segment begins at a multiple of `alignment_max`, so offsets have the alignment of
    /// their addresses up to this limit.
    SymmetricHeap(base::Extent range, std::uint64_t alignment_max, Prepare prepare)
        : heap_(range), alignment_max_(alignment_max), prepare_(std::move(prepare)) {}

    /// Returns an offset that is free on all members. Collective over the team.
    [[nodiscard]] base::Result<std::uint64_t> allocate(Team& team, link::HeapRequest request);
    /// Frees a block. Collective over the team; all members have entered when it returns.
    [[nodiscard]] base::Result<void> free(Team& team, std::uint64_t offset);
    /// Marks a block as unused by this rank, without communication. A later allocate() or free() of
    /// the team frees it, once all members have abandoned it.
    void abandon(const Team& team, std::uint64_t offset);
    /// Returns true if allocate() may free a block that this rank has abandoned.
    [[nodiscard]] bool has_abandoned(const Team& team) const;
    /// Returns the requested size of a team's block at the offset, or nothing if there is
    /// no such block.
    [[nodiscard]] std::optional<std::uint64_t> bytes_of(const Team& team, std::uint64_t offset);
    /// Frees all blocks of a team on this rank, when the team ends.
    void end_team(const Team& team);

    [[nodiscard]] link::HeapStatistics statistics() const { return heap_.statistics(); }

  private:
    struct Block {
        std::uint64_t team = 0;    ///< Team::serial()
        std::uint64_t number = 0;  ///< among the team's allocations; equal on all members
        std::uint64_t bytes = 0;   ///< requested size
        bool abandoned = false;
    };
    using Blocks = std::map<std::uint64_t, Block>;

    [[nodiscard]] Blocks::iterator find_block(const Team& team, std::uint64_t offset);
    [[nodiscard]] std::uint64_t first_abandoned(const Team& team, std::uint64_t from) const;
    void remove_number(const Team& team, std::uint64_t number);
    void remove(Blocks::iterator block);
    [[nodiscard]] std::uint64_t propose(link::HeapRequest request, std::uint64_t from);
    [[nodiscard]] base::Failure no_room(const Team& team, link::HeapRequest request) const;

    link::HeapAllocator heap_;
    std::uint64_t alignment_max_;
    Prepare prepare_;
    std::optional<base::Failure> unprepared_;  ///< reason why the last proposal failed
    Blocks blocks_;                            ///< by offset
    std::size_t abandoned_ = 0;                ///< number of abandoned blocks
};

}  // namespace weft::run
