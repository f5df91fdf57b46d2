// SPDX-License-Identifier: BSD-3-Clause
// reach.hpp - description of a rank's memory that other ranks access in place.
//
// Idea     The owner exposes a buffer before others access it. Each part of the *exposure* has a
//          Reach, which fits a cell and holds the location and the access method. The rank that
//          executes a step resolves it to a pointer, or lets the kernel copy. Ranks of other
//          nodes put there.
// Next     link/direct, which makes exposures; run/execute/stepper.hpp, which uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/put.hpp"
#include "base/region.hpp"

namespace weft::base {

/// Access of local peers to exposed memory.
enum class Access : std::uint8_t {
    read,
    overwrite,  ///< peers and the owner write all relevant bytes; the old contents are not needed
    write,
};

/// Copies of a buffer that the kernel makes in one call if local peers cannot map it: their number
/// and their bytes in all.
struct Copies {
    std::uint32_t count = 0;
    std::uint64_t bytes = 0;
    /// Number of local peers that copy at a time, while no other buffer is copied.
    std::uint32_t at_once = 1;
};

/// Methods of access to memory of a local peer, the best one first; then the method
/// over the network.
enum class AccessMethod : std::uint8_t {
    segment,     ///< it is in the owner's segment, which all ranks of the node have mapped
    adopted,     ///< its pages belong to an object that peers can map
    bounced,     ///< the owner copies it into its segment, and back if peers write it
    copied,      ///< the kernel copies between the two processes
    registered,  ///< remote ranks can put there
};
inline constexpr int kAccessMethods = 5;

/// Returns the sum of the counts for the methods by loads and stores. `by_way`: counts by method.
template <class Counts>
[[nodiscard]] constexpr auto in_place(const Counts& by_way) noexcept {
    const auto of = [&](AccessMethod way) { return by_way[static_cast<std::size_t>(way)]; };
    return of(AccessMethod::segment) + of(AccessMethod::adopted) + of(AccessMethod::bounced);
}

/// Location of a block of a rank's memory, for other ranks. Sent as the payload of an expose.
struct Reach {
    /// Address of the block in the owner's process, valid while it is exposed. `registered`:
    /// address or offset that the network uses.
    std::uint64_t address = 0;
    /// Offset of the block in the owner's segment, the object or the region.
    std::uint64_t offset = 0;
    /// `adopted`: bytes of the object; `registered`: bytes of the region.
    std::uint64_t object_bytes = 0;
    std::uint64_t key = 0;  ///< `registered`: key of the region
    /// `adopted`: number of the object, its file descriptor at the owner.
    std::uint32_t object = 0;
    std::uint32_t generation = 0;  ///< `adopted`: distinguishes objects with the same number
    AccessMethod way = AccessMethod::copied;

    /// Returns the location of the part that starts `bytes` bytes after the block's start.
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
                .way = AccessMethod::registered};
    }
    [[nodiscard]] RemoteRegion region() const { return {address - offset, object_bytes, key}; }
};
static_assert(sizeof(Reach) <= kCellPayload && std::is_trivially_copyable_v<Reach>);

/// Memory of the calling rank while local peers may access it.
struct Exposure {
    Reach reach;  ///< location of its first byte
    /// Address of the same bytes in the memory that local peers access. The owner must use it
    /// instead of `data` from expose() to conceal(). May be equal to `data`.
    std::byte* alias = nullptr;
    std::byte* data = nullptr;  ///< address that the owner has exposed
    std::uint64_t bytes = 0;
    Access access = Access::read;
    /// Local peers access a copy that no rank writes: the owner may use `data` before conceal().
    bool apart = false;
};

}  // namespace weft::base
