// SPDX-License-Identifier: BSD-3-Clause
// team_memory.hpp - memory that the members of a team have in common.
//
// Idea     Checks the arguments and completes one-sided calls where memory may end; SymmetricHeap
//          and RegisteredMemory do the work.
// Next     symmetric_heap.hpp; registered_memory.hpp; remote_memory.hpp for calls on this memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.hpp"
#include "weft/types.hpp"

namespace weft::run {

class Runtime;
class Team;

class TeamMemory {
  public:
    TeamMemory(Runtime& runtime, Team& team) : runtime_(runtime), team_(team) {}

    /// Allocates memory at the same heap offset on all members; see SymmetricHeap. Collective.
    [[nodiscard]] base::Result<std::byte*> allocate(std::uint64_t bytes, std::uint64_t alignment);
    /// Frees memory that allocate() returned. Collective.
    [[nodiscard]] base::Result<void> free(const void* memory);
    /// Marks memory as unused by this rank. A later allocate() of the team frees it, once all
    /// members have abandoned it. Not collective.
    void abandon(const void* memory);
    /// Moves memory to a new block of another size. Collective.
    [[nodiscard]] base::Result<std::byte*> reallocate(const void* memory, std::uint64_t bytes,
                                                      std::uint64_t alignment);
    /// Returns a member's address of the same memory, or nullptr if loads and stores
    /// cannot reach it.
    [[nodiscard]] std::byte* on_member(const void* memory, Rank member) const;

    /// Returns a name for memory of all members; see RegisteredMemory. Collective.
    [[nodiscard]] base::Result<std::byte*> enter(void* memory, std::uint64_t bytes);
    /// Ends the registration of a name that enter() returned. Collective.
    [[nodiscard]] base::Result<void> withdraw(const void* name);

  private:
    Runtime& runtime_;
    Team& team_;
};

}  // namespace weft::run
