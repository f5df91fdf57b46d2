// SPDX-License-Identifier: BSD-3-Clause
// reach.hpp - description of a rank's memory that other ranks access in place.
//
// Idea     The owner *exposes* a buffer before other ranks access it. Each part of the buffer has a
//          Reach: its location and the access method. A Reach fits a cell, and is sent to the
//          ranks that access the part. A local peer resolves the Reach to a pointer, or lets the
//          kernel copy. A remote rank puts to the location.
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
    overwrite,  ///< peers or the owner write all bytes that are read later: old data may be lost
    write,      ///< peers may write some of the bytes
};

/// Copies that the kernel makes in one call between a buffer and local peers that cannot map it.
struct Copies {
    std::uint32_t count = 0;
    std::uint64_t bytes = 0;  ///< total size of the copies
    /// Number of local peers that copy at the same time.
    std::uint32_t at_once = 1;
    /// At most one peer needs each byte and waits for it, so a bounced copy would only delay it.
    bool read_once = false;
};

/// Methods of access to memory of a local peer, best first; the last one is for the network.
enum class AccessMethod : std::uint8_t {
    segment,     ///< the memory is in the owner's segment, which all ranks of the node have mapped
    remapped,    ///< the memory's pages belong to an object that peers can map
    bounced,     ///< the owner copies the memory to its segment, and back if peers may write it
    copied,      ///< the kernel copies between the two processes
    registered,  ///< the memory is in a region to which remote ranks can put
};
inline constexpr int kAccessMethods = 5;

/// Returns how many of the objects that `by_method` counts are loaded and stored in place.
template <class Counts>
[[nodiscard]] constexpr auto in_place(const Counts& by_method) noexcept {
    const auto count = [&](AccessMethod each) { return by_method[static_cast<std::size_t>(each)]; };
    return count(AccessMethod::segment) + count(AccessMethod::remapped) +
           count(AccessMethod::bounced);
}

/// Location of a block of a rank's memory, for other ranks. The payload of an expose step.
struct Reach {
    /// Address in the owner's process while the block is exposed; `registered`: for the network.
    std::uint64_t address = 0;
    std::uint64_t offset = 0;  ///< in the owner's segment, the object or the region
    /// `remapped`: bytes of the object; `registered`: bytes of the region.
    std::uint64_t object_bytes = 0;
    std::uint64_t key = 0;         ///< `registered`: key of the region
    std::uint32_t object = 0;      ///< `remapped`: the owner's file descriptor of the object
    std::uint32_t generation = 0;  ///< `remapped`: distinguishes objects with the same number
    AccessMethod method = AccessMethod::copied;

    /// Returns the location of the part that starts `bytes` bytes after the block's start.
    [[nodiscard]] Reach at(std::uint64_t bytes) const {
        Reach part = *this;
        part.address += bytes;
        part.offset += bytes;
        return part;
    }

    /// Returns the location of the start of a registered region.
    [[nodiscard]] static Reach of(const RemoteRegion& region) {
        return {.address = region.base,
                .object_bytes = region.bytes,
                .key = region.key,
                .method = AccessMethod::registered};
    }
    /// Returns the region that contains the block. Only for `registered`.
    [[nodiscard]] RemoteRegion region() const { return {address - offset, object_bytes, key}; }
};
static_assert(sizeof(Reach) <= kCellPayload && std::is_trivially_copyable_v<Reach>);

/// Memory of the calling rank while other ranks may access it.
struct Exposure {
    Reach reach;  ///< location of the first byte
    /// Address in this process of the bytes that local peers access. The owner must use it instead
    /// of `data` while the memory is exposed. May be equal to `data`.
    std::byte* alias = nullptr;
    std::byte* data = nullptr;  ///< address that was passed to expose()
    std::uint64_t bytes = 0;
    Access access = Access::read;
    /// True: local peers read a copy of the bytes, so the owner may change `data` at any time.
    bool separate_copy = false;
};

}  // namespace weft::base
