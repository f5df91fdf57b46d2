// SPDX-License-Identifier: BSD-3-Clause
// distributed_table.hpp - a hash table of counters whose slots are spread over a team.
//
// Idea     Slots are numbered through all ranks; a key's search starts at the slot that its hash
//          names and goes on from slot to slot, and so from rank to rank. A free slot is claimed by
//          compare_swap of its key, a counter is raised by fetch_add, and both are done at the
//          slot's rank without its help: no locks, no messages to be answered by the program.
// Holds    Any rank adds any key at any time. A slot that has a key keeps it, so a search that
//          passes it by is never wrong. Both operations have been done when they return; readers
//          need a barrier between the last add and the first count, since a slot has its key before
//          its first count.
// Next     table.cpp for how it is used; docs/guide/programming.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>
#include <weft/weft.hpp>

#include "perf/apps/common/mix.hpp"

namespace apps {

inline constexpr std::uint64_t kNoKey = 0;

struct Slot {
    std::uint64_t key;  ///< kNoKey: free
    std::uint64_t count;
};

class DistributedTable {
  public:
    /// Collective. slots_per_rank: 1 or more, the same on all ranks.
    DistributedTable(weft::Team team, std::uint64_t slots_per_rank);

    /// Adds one to the key's counter, which starts at 0. False if the table is full. key: not
    /// kNoKey.
    [[nodiscard]] bool add(std::uint64_t key);
    /// The key's counter, or nothing if the key was not added.
    [[nodiscard]] std::optional<std::uint64_t> count_of(std::uint64_t key);

    /// The slots of a member, as they are there.
    [[nodiscard]] std::vector<Slot> slots_of(weft::Rank rank);

    [[nodiscard]] std::uint64_t slots() const { return slots_.size() * ranks_; }
    /// Slots that this rank's calls have looked at.
    [[nodiscard]] std::uint64_t probes() const { return probes_; }

  private:
    /// Where a slot is: a slot of this rank's memory names the same one of every member's.
    struct Place {
        Slot* slot;
        weft::Rank rank;
    };
    /// The slot to look at after `probe` others.
    [[nodiscard]] Place place(std::uint64_t key, std::uint64_t probe);

    weft::Team team_;
    std::uint64_t ranks_;
    weft::Memory memory_;
    std::span<Slot> slots_;  ///< of this rank
    std::uint64_t probes_ = 0;
};

}  // namespace apps
