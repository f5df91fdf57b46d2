// SPDX-License-Identifier: BSD-3-Clause
// symmetric_heap.hpp - memory that has the same offset on all members of a team.
//
// Idea     Members may have different histories: each is in other teams besides. So they agree,
//          with the team's own calls: each proposes the lowest offset that is free at home, and the
//          search goes on at the highest proposal; when all propose the same, they take it. Members
//          with equal histories agree at once. What a member proposes it has made ready for the
//          others before, so what they agree about can be used when they know that they do.
// Why      The same exchange shows whether all members ask for the same, so a disagreement and a
//          full heap are reported on all of them
//          (docs/decisions/0019-symmetric-memory.md).
// Holds    A call that fails changes nothing on any member. Blocks belong to one team and end with
//          it. Offsets are found in a bounded number of exchanges: each passes a free range of some
//          member. Puts into a block have landed before it is freed: the caller settles this rank's
//          before the exchange that frees, and the exchange ends when all members have done so.
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
    /// Makes memory at an offset ready for all members of a team: a network may register it.
    using Prepare = std::function<base::Result<void>(std::uint64_t offset, std::uint64_t bytes)>;

    /// alignment_max: every segment begins at a multiple of it, so offsets give addresses of that
    /// alignment.
    SymmetricHeap(link::HeapRange range, std::uint64_t alignment_max, Prepare prepare)
        : heap_(range), alignment_max_(alignment_max), prepare_(std::move(prepare)) {}

    /// Collective over the team: an offset that is free on all members.
    [[nodiscard]] base::Result<std::uint64_t> allocate(Team& team, link::HeapRequest request);
    /// Collective over the team; all members have entered when it returns.
    [[nodiscard]] base::Result<void> free(Team& team, std::uint64_t offset);
    /// This rank has no more use for a block, and says so without communication. It is freed by a
    /// later allocate() or free() of the team, once all members have abandoned it.
    void abandon(const Team& team, std::uint64_t offset);
    /// Whether allocate() may free a block that this rank has abandoned.
    [[nodiscard]] bool has_abandoned(const Team& team) const;
    /// Bytes of the block of a team that begins at the offset, as they were asked for; nothing if
    /// none does.
    [[nodiscard]] std::optional<std::uint64_t> bytes_of(const Team& team, std::uint64_t offset);
    /// Frees all blocks of a team, at this rank, at the team's end.
    void end_team(const Team& team);

    [[nodiscard]] link::HeapStatistics statistics() const { return heap_.statistics(); }

  private:
    struct Block {
        std::uint64_t team = 0;    ///< Team::serial()
        std::uint64_t number = 0;  ///< of the team's allocations; the same on all members
        std::uint64_t bytes = 0;   ///< as they were asked for
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
    std::optional<base::Failure> unprepared_;  ///< why the last proposal was none
    Blocks blocks_;                            ///< by offset
    std::size_t abandoned_ = 0;                ///< blocks of which this is true
};

}  // namespace weft::run
