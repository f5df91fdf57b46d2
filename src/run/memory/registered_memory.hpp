// SPDX-License-Identifier: BSD-3-Clause
// registered_memory.hpp - users' memory that members of a team put to and get from by a *name*, a
// reserved address (docs/decisions/0020-registered-memory.md).
//
// Holds    A failed registration has no effect on any member. Registrations belong to a team and
//          end with it. Puts to memory are complete before its registration ends. The last kRetired
//          ended names are not reused.
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

/// Reason why a member cannot register its memory. ours: the memory is in the segment, but not in
/// the heap. no_number: the owner has no free number in RegisteredRanges.
enum class MemoryFault : std::uint64_t { none, null, too_long, unmapped, ours, no_number };

/// A member's description of the memory that it registers. Sent as words to all members.
struct MemoryCard {
    /// Registered memory must be shorter than this.
    static constexpr std::uint64_t kBytesMax = std::uint64_t{1} << RemoteAddress::kOffsetBits;

    std::uint64_t bytes = 0;  ///< 0: the member registers nothing
    std::uint64_t address = 0;
    MemoryFault fault = MemoryFault::none;
    std::uint64_t number = 0;       ///< number in the member's RegisteredRanges; 0: none
    std::uint64_t segment_end = 0;  ///< end of the memory in the member's segment; 0: outside it
    /// Registration with the network; 0 bytes: the network does not reach the memory.
    std::uint64_t region_base = 0, region_bytes = 0, region_key = 0;
};

/// Fails if the member reports a fault, or if the card is invalid: sums must not overflow, memory
/// in the member's segment must be in its heap, and a region must contain all of the memory.
[[nodiscard]] base::Result<void> check(const MemoryCard& card, Rank member,
                                       const SegmentLayout& layout);

class RegisteredMemory {
  public:
    explicit RegisteredMemory(const MemoryServices& services) : services_(services) {}

    /// Registers this rank's memory, which may be empty. Returns the name. Collective.
    [[nodiscard]] base::Result<std::byte*> add(Team& team, void* memory, std::uint64_t bytes);
    /// Ends a registration by the name that add() returned. Collective.
    [[nodiscard]] base::Result<void> remove(Team& team, const void* name);
    /// Ends all registrations of a team. All members must have stopped using them.
    void end_team(const Team& team);

    /// Translates an address in a name to the member's memory. Fails if the name or the range is
    /// invalid. Returns nothing if the address is in no current or recent name.
    [[nodiscard]] std::optional<base::Result<RemoteAddress>> find(const Team& team,
                                                                  const void* address,
                                                                  std::uint64_t bytes, Rank member);
    /// Returns the number of bytes that a member has registered under the name, or 0.
    [[nodiscard]] std::uint64_t bytes_of(const Team& team, const void* address, Rank member);

  private:
    static constexpr std::size_t kRetired = 16;  ///< ended names whose use is detected

    struct Registration {
        std::uint64_t team = 0;   ///< Team::serial()
        std::uint64_t order = 0;  ///< Team::next_allocation()
        link::AddressRange name;
        std::vector<PeerMemory> members;  ///< for each team rank; not resized: calls use pointers
        /// For each team rank: offset of the memory in the member's segment; 0: outside it.
        std::vector<std::uint64_t> in_segment;
        MemoryCard mine;
    };
    using Registrations = std::map<std::uintptr_t, Registration>;  ///< by the end of the name

    [[nodiscard]] MemoryCard make_card(const Team& team, std::byte* memory, std::uint64_t bytes);
    void revoke(const MemoryCard& mine);
    [[nodiscard]] base::Result<std::vector<MemoryCard>> exchange(Team& team,
                                                                 const MemoryCard& mine);
    [[nodiscard]] base::Result<std::byte*> add_name(Team& team, const MemoryCard& mine,
                                                    const std::vector<MemoryCard>& cards);
    [[nodiscard]] PeerMemory peer_memory(Rank job_rank, const MemoryCard& card) const;
    void drop(Registrations::iterator at);
    [[nodiscard]] Registrations::iterator find_holder(const void* address);

    const MemoryServices& services_;
    std::mutex mutex_;  ///< protects the members below: several threads may look up names
    Registrations registrations_;
    std::deque<link::AddressRange> retired_;  ///< names whose registrations have ended
};

}  // namespace weft::run
