// SPDX-License-Identifier: BSD-3-Clause
// registered_memory.hpp - user memory that the members of a team access by a *name*: reserved
// addresses without memory (docs/decisions/0020-registered-memory.md).
//
// Holds    A failed registration has no effect on any member. Registrations belong to a team and
//          end with it. Puts to memory are complete before its registration ends. The addresses of
//          the last kRetired ended names stay reserved, so that their use is detected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/put.hpp"
#include "base/result.hpp"
#include "link/shared/os_handles.hpp"
#include "run/job/layout.hpp"
#include "run/memory/services.hpp"
#include "run/onesided/remote_address.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// Reason why a member cannot register its memory.
enum class MemoryFault : std::uint64_t { none, null, too_long, unmapped, outside_heap, no_number };

/// A member's description of the memory that it registers. Exchanged as words of 8 bytes.
struct MemoryCard {
    /// Registered memory must be shorter than this.
    static constexpr std::uint64_t kBytesMax = std::uint64_t{1} << RemoteAddress::kOffsetBits;

    std::uint64_t bytes = 0;    ///< 0: the member registers nothing
    std::uint64_t address = 0;  ///< in the member's process
    MemoryFault fault = MemoryFault::none;
    std::uint64_t number = 0;       ///< number in the member's RegisteredRanges; 0: none
    std::uint64_t segment_end = 0;  ///< offset in the member's segment; 0: not in the segment
    base::RemoteRegion region;      ///< registration with the network; 0 bytes: none
};

/// Fails if the member reports a fault, or if the card is invalid: sums must not overflow, memory
/// in the member's segment must be in its heap, and a region must contain all of the memory.
[[nodiscard]] base::Result<void> check(const MemoryCard& card, Rank member,
                                       const SegmentLayout& layout);

class RegisteredMemory {
  public:
    explicit RegisteredMemory(const MemoryServices& services) : services_(services) {}

    /// Registers this rank's memory of 0 or more bytes. Returns the name. Collective.
    [[nodiscard]] base::Result<std::byte*> add(Team& team, void* memory, std::uint64_t bytes);
    /// Ends the registration for which add() returned `name`. Collective.
    [[nodiscard]] base::Result<void> remove(Team& team, const void* name);
    /// Ends all registrations of a team. The members must have stopped using the names.
    void end_team(const Team& team);

    /// Translates an address in a name to an address in the member's memory. Fails if the name has
    /// ended or belongs to another team, or if the member's memory is too short. Returns nothing if
    /// the address is in no current or recently ended name.
    [[nodiscard]] std::optional<base::Result<RemoteAddress>> find(const Team& team,
                                                                  const void* address,
                                                                  std::uint64_t bytes, Rank member);
    /// Returns the number of bytes that a member has registered under the name; 0: not a name.
    [[nodiscard]] std::uint64_t bytes_of(const Team& team, const void* address, Rank member);

  private:
    static constexpr std::size_t kRetired = 16;

    struct Registration {
        std::uint64_t team = 0;   ///< Team::serial()
        std::uint64_t order = 0;  ///< Team::next_allocation()
        link::AddressRange name;
        // By team rank:
        std::vector<PeerMemory> members;  ///< not resized, because calls have pointers to it
        std::vector<std::uint64_t> segment_offsets;  ///< 0: the memory is not in the segment
        MemoryCard mine;
    };
    using Registrations = std::map<std::uintptr_t, Registration>;  ///< key: end of the name

    [[nodiscard]] MemoryCard make_card(const Team& team, std::byte* memory, std::uint64_t bytes);
    void revoke(const MemoryCard& mine);
    [[nodiscard]] base::Result<std::byte*> add_name(Team& team, const MemoryCard& mine,
                                                    const std::vector<MemoryCard>& cards);
    void drop(Registrations::iterator at);
    [[nodiscard]] Registrations::iterator find_name(const void* address);

    const MemoryServices& services_;
    std::mutex mutex_;  ///< protects the members below: several threads may call find()
    Registrations registrations_;
    std::deque<link::AddressRange> retired_;  ///< recently ended names
};

}  // namespace weft::run
