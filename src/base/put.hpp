// SPDX-License-Identifier: BSD-3-Clause
// put.hpp - a put: data into a peer's memory, then its signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::base {

struct PutPart {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
};

/// Memory of a rank as the network addresses it.
struct RemoteRegion {
    std::uint64_t base = 0;  ///< added to offsets: an address, or 0 if the network uses offsets
    std::uint64_t bytes = 0;
    std::uint64_t key = 0;
};

/// Writes the parts, packed, into the peer's memory and then raises the flag of a cell there.
/// Offsets are into the peer's segment, which has the same layout on every rank.
struct Put {
    static constexpr std::uint64_t kInCell = ~std::uint64_t{0};

    Rank peer = 0;  ///< rank in the job
    std::span<const PutPart> parts;
    std::size_t bytes = 0;           ///< sum of the parts; 0: a signal
    std::uint64_t target = kInCell;  ///< offset of the payload; kInCell: in the cell itself
    /// Memory that a remote peer has registered, to which `target` is relative; nullptr:
    /// the peer's segment.
    const RemoteRegion* region = nullptr;
    std::uint64_t cell = 0;  ///< offset of the cell whose flag is raised
    FlagWord flag = 0;
    /// Incremented for each transfer that still reads a part, decremented on its local completion.
    std::uint32_t* pending = nullptr;
};

/// Outcome of an attempt to post.
enum class Post : std::uint8_t {
    posted,
    again,  ///< no resources now: drive progress and call again with the same arguments
};

}  // namespace weft::base
