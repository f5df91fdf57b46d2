// SPDX-License-Identifier: BSD-3-Clause
// registered_memory.hpp - users' memory that members of a team put to and get from, by a *name*
// (docs/decisions/0020-registered-memory.md).
//
// Holds    A call that fails changes nothing on any member. Registrations belong to one team and
//          end with it. Puts to memory are complete before its registration ends. A name is not
//          reused before kRetired later ones have ended.
// Next     run/onesided/remote_address.hpp for the memory behind a name; remote_memory.hpp for
//          the calls.
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
#include "run/job/layout.hpp"
#include "run/memory/services.hpp"
#include "run/onesided/remote_address.hpp"
#include "weft/types.hpp"

namespace weft::run {

class Team;

/// Reason why a member cannot register its memory.
enum class MemoryFault : std::uint64_t { none, null, too_long, unmapped, ours, no_number };

/// A team member's description of memory that it registers. Sent as words.
struct MemoryCard {
    /// Registered memory is shorter.
    static constexpr std::uint64_t kBytesMax = std::uint64_t{1} << RemoteAddress::kOffsetBits;

    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
    MemoryFault fault = MemoryFault::none;
    std::uint64_t number = 0;
    std::uint64_t segment_end = 0;  ///< end in the member's segment; 0: memory outside
    std::uint64_t region_base = 0, region_bytes = 0, region_key = 0;
};

/// Fails if the member reports a fault, or if the card is invalid: sums must not wrap, memory in
/// the member's segment must be in its heap, and a region must contain all of the memory. `layout`
/// is equal on all ranks.
[[nodiscard]] base::Result<void> check(const MemoryCard& card, Rank member,
                                       const SegmentLayout& layout);

class RegisteredMemory {
  public:
    explicit RegisteredMemory(const MemoryServices& services) : services_(services) {}

    /// Registers memory. Each member may pass other memory, or none. Returns the name. Collective.
    [[nodiscard]] base::Result<std::byte*> add(Team& team, void* memory, std::uint64_t bytes);
    /// Ends a registration by the name that add() returned. Collective.
    [[nodiscard]] base::Result<void> remove(Team& team, const void* name);
    /// Ends all registrations of a team, after all members have stopped using them.
    void end_team(const Team& team);

    /// Returns the place of a member's bytes by a name, or a failure if the name or the range is
    /// wrong. Returns nothing if the address is in no current or recent name.
    [[nodiscard]] std::optional<base::Result<RemoteAddress>> find(const Team& team,
                                                                  const void* address,
                                                                  std::uint64_t bytes, Rank member);
    /// Returns the number of bytes that a member has registered under the name, or 0.
    [[nodiscard]] std::uint64_t bytes_of(const Team& team, const void* address, Rank member);

  private:
    static constexpr std::size_t kRetired = 16;

    struct Registration {
        std::uint64_t team = 0;   ///< Team::serial()
        std::uint64_t order = 0;  ///< among the team's allocations; equal on all members
        link::AddressRange name;
        std::vector<PeerMemory> members;  ///< by team rank; never resized, because calls use it
        /// By team rank: offset of the memory in the member's segment; 0: outside of it.
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

    const MemoryServices& services_;
    std::mutex mutex_;  ///< for the members below; several threads look up names
    Registrations held_;
    std::deque<link::AddressRange> retired_;  ///< names whose registrations have ended
};

}  // namespace weft::run
