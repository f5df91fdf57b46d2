// SPDX-License-Identifier: BSD-3-Clause
// distributed_table.hpp - a hash table of counters whose slots are spread over a team.
//
// Idea     Slots are numbered over all ranks. The search for a key starts at the slot of its hash,
//          and continues from slot to slot and so from rank to rank. compare_swap of the key claims
//          a free slot, and fetch_add increments a counter. Both act on the slot's rank without its
//          help: the program needs no locks and answers no messages.
// Holds    Any rank can add any key at any time. A slot keeps its key, so a search may always skip
//          a slot with another key. Both operations are complete when they return. Callers need a
//          barrier between the last add() and the first count_of(), because add() stores the key of
//          a slot before it increments the counter.
// Next     table.cpp for its use; docs/guide/programming.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>
#include <weft/symmetric.hpp>

#include "perf/apps/common/mix.hpp"

namespace apps {

inline constexpr std::uint64_t kNoKey = 0;

struct Slot {
    std::uint64_t key;  ///< kNoKey if free
    std::uint64_t count;
};

class DistributedTable {
  public:
    /// Collective. `slots_per_rank` is at least 1 and equal on all ranks.
    DistributedTable(weft::Team team, std::uint64_t slots_per_rank);

    /// Adds one to the key's counter, which starts at 0. Returns false if the table is full. The
    /// key must not be kNoKey.
    [[nodiscard]] bool add(std::uint64_t key);
    /// Returns the key's counter, or nullopt if no rank has added the key.
    [[nodiscard]] std::optional<std::uint64_t> count_of(std::uint64_t key);

    /// Returns a copy of a member's slots.
    [[nodiscard]] std::vector<Slot> slots_of(weft::Rank rank) { return slots_.peer(rank).get(); }

    [[nodiscard]] std::uint64_t slots() const { return slots_.size() * ranks_; }
    /// Returns the number of slots that this rank's calls have examined.
    [[nodiscard]] std::uint64_t probes() const { return probes_; }

  private:
    /// Returns the slot that a search for the key examines after `probe` other slots.
    [[nodiscard]] weft::GlobalRef<Slot> slot_of(std::uint64_t key, std::uint64_t probe);

    std::uint64_t ranks_;
    weft::Symmetric<Slot> slots_;  ///< free at first, because kNoKey is 0
    std::uint64_t probes_ = 0;
};

}  // namespace apps
