// SPDX-License-Identifier: BSD-3-Clause
// reach.hpp - how other ranks get at memory of a rank where it lies.
//
// Idea     Before others touch a buffer its owner makes it reachable: an *exposure*, of which each
//          part has a Reach, small enough for a cell, that tells them where the part lies and by
//          which way. The rank that runs a step resolves it to a pointer, or has the kernel copy;
//          ranks of other nodes put there.
// Next     link/direct for who makes them; run/execute/stepper.hpp for who uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/put.hpp"
#include "base/region.hpp"

namespace weft::base {

/// What mates do with exposed memory.
enum class Access : std::uint8_t {
    read,
    overwrite,  ///< they and the owner write all that counts: what it holds at first does not
    write,
};

/// What the kernel has to copy of a buffer in one call, if mates cannot map it: how often, and how
/// many bytes in all.
struct Copies {
    std::uint32_t count = 0;
    std::uint64_t bytes = 0;
    std::uint32_t at_once = 1;  ///< so many mates, while no other buffer is copied
};

/// Ways to a mate's memory, the best one first; and the one over the network.
enum class Way : std::uint8_t {
    segment,     ///< it lies in the owner's segment, which all ranks reach
    adopted,     ///< its pages are those of an object that mates can map
    bounced,     ///< its owner copies it into its segment, and back if mates write it
    copied,      ///< the kernel copies between the two processes
    registered,  ///< far ranks can put there
};
inline constexpr int kWays = 5;

/// Of something that is counted by way, what mates reach by loads and stores.
template <class Counts>
[[nodiscard]] constexpr auto in_place(const Counts& by_way) noexcept {
    const auto of = [&](Way way) { return by_way[static_cast<std::size_t>(way)]; };
    return of(Way::segment) + of(Way::adopted) + of(Way::bounced);
}

/// Where a block of a rank's memory lies, for others. Travels as the payload of an expose.
struct Reach {
    /// Of the block in the owner's process; valid while it is exposed. Registered: as the network
    /// counts.
    std::uint64_t address = 0;
    std::uint64_t offset = 0;  ///< of the block in the owner's segment, in the object or the region
    std::uint64_t object_bytes = 0;  ///< adopted, registered: of the object, or of the region
    std::uint64_t key = 0;           ///< registered: of the region
    std::uint32_t object = 0;        ///< adopted: which one; its file descriptor at the owner
    std::uint32_t generation = 0;    ///< adopted: tells which of those that had this number
    Way way = Way::copied;

    /// Of the part of the block that starts so many bytes after its start.
    [[nodiscard]] Reach at(std::uint64_t bytes) const {
        Reach part = *this;
        part.address += bytes;
        part.offset += bytes;
        return part;
    }

    [[nodiscard]] static Reach of(const RemoteRegion& region) {
        return {.address = region.base,
                .object_bytes = region.bytes,
                .key = region.key,
                .way = Way::registered};
    }
    /// Registered: what it lies in.
    [[nodiscard]] RemoteRegion region() const { return {address - offset, object_bytes, key}; }
};
static_assert(sizeof(Reach) <= kCellPayload && std::is_trivially_copyable_v<Reach>);

/// Memory of the calling rank while mates may get at it.
struct Exposure {
    Reach reach;  ///< of its first byte
    /// What the owner must use instead of its own pointer from expose to conceal: the same bytes,
    /// seen as mates see them. May be that pointer itself.
    std::byte* alias = nullptr;
    std::byte* data = nullptr;  ///< the owner's pointer
    std::uint64_t bytes = 0;
    Access access = Access::read;
    /// Mates get at a copy that no rank writes: `data` is its owner's again before conceal().
    bool apart = false;
};

}  // namespace weft::base
