// SPDX-License-Identifier: BSD-3-Clause
// registered_memory.hpp - memory of the callers that members of a team put to and get from.
//
// Idea     Each member says where its memory lies and how it is reached; the answers of all stay at
//          each. A *name*, a range of addresses without memory, stands for the memory of whichever
//          peer a call goes to, so every one-sided call takes it where it takes symmetric memory.
// Why      Handles with offsets would double the interface, for C, for C++ and for what is built on
//          them (docs/decisions/0020-registered-memory.md).
// Holds    A call that fails changes nothing on any member. Registrations belong to one team and
//          end with it. What was put to memory has landed when it is not registered any more. Names
//          are not used again before kRetired others have ended.
// Next     run/onesided/place.hpp for what a name leads to; remote_memory.hpp for the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/put.hpp"
#include "base/result.hpp"
#include "link/shared/os_handles.hpp"
#include "run/onesided/place.hpp"
#include "run/runtime/memory_card.hpp"
#include "weft/types.hpp"

namespace weft::run {

class Runtime;
class Team;

class RegisteredMemory {
  public:
    explicit RegisteredMemory(Runtime& runtime) : runtime_(runtime) {}

    /// Collective over the team: the name of the memory of all members, each of which may register
    /// other memory, or none.
    [[nodiscard]] base::Result<std::byte*> add(Team& team, std::byte* memory, std::uint64_t bytes);
    /// Collective, with what add() gave.
    [[nodiscard]] base::Result<void> remove(Team& team, const void* name);
    /// At the team's end: no member uses what was registered on it any more.
    void end_team(const Team& team);

    /// Where bytes of a member lie by a name; the failure says what is wrong with the address.
    /// Nothing: it lies in no name, and in none that was given lately.
    [[nodiscard]] std::optional<base::Result<Place>> find(const Team& team, const void* address,
                                                          std::uint64_t bytes, Rank member);
    /// Bytes that a member has registered by the name that holds the address; 0 if none does.
    [[nodiscard]] std::uint64_t bytes_of(const Team& team, const void* address, Rank member);

  private:
    static constexpr std::size_t kRetired = 16;

    struct Registration {
        std::uint64_t team = 0;   ///< Team::serial()
        std::uint64_t order = 0;  ///< of the team's allocations; the same on all members
        link::AddressRange name;
        std::vector<PeerMemory> members;  ///< by rank of the team; never resized: calls use it
        /// By rank of the team: where memory that lies in the segment begins there; 0: elsewhere.
        std::vector<std::uint64_t> in_segment;
        MemoryCard mine;
    };
    using Registrations = std::map<std::uintptr_t, Registration>;  ///< by the end of the name

    [[nodiscard]] MemoryCard offer(const Team& team, std::byte* memory, std::uint64_t bytes);
    void withdraw(const MemoryCard& mine);
    [[nodiscard]] base::Result<std::vector<MemoryCard>> exchange(Team& team,
                                                                 const MemoryCard& mine);
    [[nodiscard]] base::Result<std::byte*> enter(Team& team, const MemoryCard& mine,
                                                 const std::vector<MemoryCard>& cards);
    [[nodiscard]] PeerMemory seen_from_here(Rank job_rank, const MemoryCard& card) const;
    void drop(Registrations::iterator at);
    [[nodiscard]] Registrations::iterator holding(const void* address);

    Runtime& runtime_;
    std::mutex mutex_;  ///< of what follows: calls of several threads look up names
    Registrations held_;
    std::deque<link::AddressRange> retired_;  ///< names that stand for nothing any more
};

}  // namespace weft::run
