// SPDX-License-Identifier: BSD-3-Clause
// put.hpp - a put: data into a peer's memory, then a signal. Also its counterpart, a read.
//
// Idea     The engine and one-sided calls pass puts to the wire. The wire divides a put to a remote
//          peer into puts that its port can post, with the guarantees that the notify strategy
//          needs. Both kinds of puts have the same type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/copy.hpp"
#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::base {

/// One piece of contiguous source memory.
struct PutPart {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
};

/// Registered memory of a rank, as the network addresses it.
struct RemoteRegion {
    std::uint64_t base = 0;  ///< added to offsets: an address, or 0 if the network uses offsets
    std::uint64_t bytes = 0;
    std::uint64_t key = 0;  ///< registration key
};

/// Guarantees of one network write besides eventual delivery.
enum class PutKind : std::uint8_t {
    plain,
    with_immediate,  ///< the peer's port reports `immediate` once, after delivery of all data
    delivered,       ///< its local completion implies delivery
    fenced,  ///< starts after completion of all earlier writes to the peer; also `delivered`
};

/// Writes the parts, packed, into the peer's memory and then raises the flag of a cell of the peer.
/// Offsets count from the start of the peer's segment, which has the same layout on every rank.
struct Put {
    static constexpr std::uint64_t kInCell = ~std::uint64_t{0};  ///< value of `target`
    static constexpr std::uint64_t kNoCell = ~std::uint64_t{0};  ///< value of `cell`
    static constexpr std::uint8_t kNoCounter = 0xff;             ///< value of `counter`

    Rank peer = 0;  ///< rank in the job
    // The wire sets these three for its port.
    PutKind kind = PutKind::plain;
    std::uint8_t counter = kNoCounter;  ///< this rank's counter at the peer, which counts the write
    bool copied = false;                ///< the port must copy the source at once
    /// True: another put to a remote peer follows at once, so the network may post both together.
    bool more = false;
    std::span<const PutPart> parts;
    std::size_t bytes = 0;           ///< sum of the parts; 0: a signal
    std::uint64_t target = kInCell;  ///< offset of the payload; kInCell: in the cell itself
    /// Region of a remote peer in which `target` is an offset; nullptr: the peer's segment.
    const RemoteRegion* region = nullptr;
    /// Offset of the cell whose flag is raised. kNoCell (only for remote peers): no flag, so that
    /// only an immediate notifies the peer.
    std::uint64_t cell = kNoCell;
    FlagWord flag = 0;  ///< new value of the cell's flag
    /// If `cell` is kNoCell: value that the peer's wire passes to its one-sided service after
    /// delivery; 0: none. Must be below 2^63. Requires RemoteFacts::signals. `bytes` may be 0.
    std::uint64_t immediate = 0;
    /// Number of transfers in flight: incremented for each transfer that still reads a part,
    /// decremented on its local completion. With kNoCell and RemoteCompletion::delivered, all
    /// transfers increment it, and local completion means that the bytes are delivered.
    std::uint32_t* pending = nullptr;

    /// Copies the parts, packed, to memory of this process. Returns the end of the copy.
    std::byte* copy_to(std::byte* to) const noexcept {
        for (const PutPart& part : parts) {
            if (part.bytes != 0) copy_bytes(to, part.data, part.bytes);
            to += part.bytes;
        }
        return to;
    }
};

/// Reads bytes from a remote peer's memory.
struct Read {
    Rank peer = 0;
    std::byte* into = nullptr;
    std::size_t bytes = 0;
    std::uint64_t source = 0;          ///< offset in the peer's segment, or in `region`
    std::uint32_t* pending = nullptr;  ///< incremented for each transfer, decremented at its end
    const RemoteRegion* region = nullptr;  ///< see Put
};

/// Outcome of an attempt to post a put or a read.
enum class Post : std::uint8_t {
    posted,
    again,  ///< no resources now: drive progress and call again with the same arguments
};

/// Method by which a rank detects that all its puts without a cell are delivered at a peer.
enum class RemoteCompletion : std::uint8_t {
    ordered,    ///< a request that is put after the writes is delivered after them
    counted,    ///< the peer serves a request when it has counted the deliveries before it
    delivered,  ///< local completion implies delivery
};
[[nodiscard]] constexpr std::string_view name_of(RemoteCompletion completion) {
    constexpr std::string_view kNames[] = {"ordered", "counted", "delivered"};
    return kNames[static_cast<std::size_t>(completion)];
}

/// Guarantees of a network to one-sided calls, equal on all ranks.
struct RemoteFacts {
    RemoteCompletion completion = RemoteCompletion::counted;
    bool whole_words = false;  ///< a put of an aligned word is never seen in part
    bool reads = true;         ///< the network supports reads
    /// Puts without a cell may have an immediate. The peer handles it before it can see later puts
    /// of this rank, and before it serves this rank's requests and messages.
    bool signals = false;
};

}  // namespace weft::base
