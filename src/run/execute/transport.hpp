// SPDX-License-Identifier: BSD-3-Clause
// transport.hpp - what the engine needs from a wire.
//
// Idea     An interface belongs to its user. The real wire (link/wire) and the virtual wire of the
//          tests both fit; the engine is compiled once for each, with no virtual call in its loop.
// Holds    try_put is all or nothing to its caller: on `again` the caller repeats it with the same
//          put and the same `resume`. Nothing blocks.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/put.hpp"
#include "base/reach.hpp"
#include "base/result.hpp"

namespace weft::run {

// clang-format 14 splits compound requirements.
// clang-format off
template <class T>
concept Transport = requires(T wire, const base::Put& put, std::uint64_t& resume, Rank rank,
                             std::uint64_t offset, unsigned failures, std::byte* memory,
                             const base::Reach& reach, const base::Exposure& exposure,
                             const base::Copies& copies) {
    /// Posts a put. `resume` is 0 at the first attempt and belongs to the wire until `posted`.
    { wire.try_put(put, resume) } noexcept -> std::same_as<base::Post>;
    /// Base of a rank's segment if loads and stores reach it (always for this rank), else nullptr.
    { wire.near(rank) } noexcept -> std::same_as<std::byte*>;
    /// Bytes of every rank's segment.
    { wire.segment_bytes() } noexcept -> std::same_as<std::uint64_t>;
    /// Makes memory of this rank reachable for node-mates until conceal(). The bytes of a buffer
    /// all of which the running call may read or write, and what the kernel would copy of it; 0: of
    /// a part, whose pages must stay as they are.
    { wire.expose(memory, offset, base::Access::read, copies) } noexcept
        -> std::same_as<base::Exposure>;
    /// The same for puts of far ranks. Fails if the network cannot register it.
    { wire.expose_far(memory, offset) } noexcept -> std::same_as<base::Result<base::Exposure>>;
    { wire.conceal(exposure) } noexcept;
    /// The same after a failure, when mates may still be at it: what can be taken from them is.
    { wire.withdraw(exposure) } noexcept;
    /// So many bytes that a node-mate exposed, if loads and stores reach them; else nullptr, and
    /// the kernel copies.
    { wire.reach(rank, reach, offset) } noexcept -> std::same_as<std::byte*>;
    /// From a node-mate's memory, and to it. False: errno says why not.
    { wire.copy_from(rank, reach, memory, offset) } noexcept -> std::same_as<bool>;
    { wire.copy_to(rank, reach, memory, offset) } noexcept -> std::same_as<bool>;
    /// Makes progress on incoming data and completions.
    { wire.progress() } noexcept;
    /// Raises the flag of this rank's cell at that offset of the segment if its data has arrived
    /// without an immediate. Called where a far peer's flag is awaited.
    { wire.settle(offset) } noexcept;
    /// Called after each failed poll of everything, with how many failed in a row: pause or yield.
    { wire.relax(failures) } noexcept;
    /// Ends all transfers of this rank: none touches memory or a `pending` again. The wire fails.
    { wire.cancel() } noexcept;
    /// A failure of the network or of a peer, or nullptr.
    { wire.failure() } noexcept -> std::same_as<const base::Failure*>;
};
// clang-format on

/// Grows with what peers do with this rank, on wires that say so.
template <Transport Wire>
[[nodiscard]] std::uint64_t stirrings_of(const Wire& wire) noexcept {
    if constexpr (requires { wire.stirrings(); }) return wire.stirrings();
    return 0;
}

}  // namespace weft::run
