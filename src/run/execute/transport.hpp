// SPDX-License-Identifier: BSD-3-Clause
// transport.hpp - requirements of the engine on a wire.
//
// Holds    A put is posted completely or not at all, as seen by the caller. On `again`, the caller
//          repeats it with the same put and the same `resume`. No function blocks.
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
    /// Returns a rank's segment for loads and stores (always for this rank), else nullptr.
    { wire.near(rank) } noexcept -> std::same_as<std::byte*>;
    /// Returns the size of every rank's segment in bytes.
    { wire.segment_bytes() } noexcept -> std::same_as<std::uint64_t>;
    /// Makes memory of this rank reachable for local peers until conceal(). Takes the size of a
    /// buffer that the call owns as a whole, and the copies that the kernel would make. With size
    /// 0, the pages of the buffer must stay as they are.
    { wire.memory().expose(memory, offset, base::Access::read, copies) } noexcept
        -> std::same_as<base::Exposure>;
    /// Makes memory reachable for puts of remote ranks. Fails if the network refuses it.
    { wire.memory().expose_far(memory, offset) } noexcept
        -> std::same_as<base::Result<base::Exposure>>;
    { wire.memory().conceal(exposure) } noexcept;
    /// Ends an exposure after a failure, and revokes the access of peers as far as possible.
    { wire.memory().withdraw(exposure) } noexcept;
    /// Returns the address of memory that a peer exposed, or nullptr if only the kernel copies.
    { wire.memory().reach(rank, reach, offset) } noexcept -> std::same_as<std::byte*>;
    /// Copies from or to a local peer's memory. Returns false and sets errno on failure.
    { wire.memory().copy_from(rank, reach, memory, offset) } noexcept -> std::same_as<bool>;
    { wire.memory().copy_to(rank, reach, memory, offset) } noexcept -> std::same_as<bool>;
    /// Advances incoming data and completions.
    { wire.progress() } noexcept;
    /// Raises the flag of this rank's cell at an offset of the segment, if its data has arrived
    /// without an immediate. Called where the flag of a remote peer is awaited.
    { wire.settle(offset) } noexcept;
    /// Pauses or yields. Called after each failed poll, with the number of failed polls in a row.
    { wire.relax(failures) } noexcept;
    /// Fails the wire: its transfers touch neither memory nor `pending` again.
    { wire.cancel() } noexcept;
    /// Returns the failure of the network or of a peer, or nullptr.
    { wire.failure() } noexcept -> std::same_as<const base::Failure*>;
};
// clang-format on

/// Returns a counter that grows when peers act on this rank, on wires that have one; else 0.
template <Transport Wire>
[[nodiscard]] std::uint64_t activity_of(const Wire& wire) noexcept {
    if constexpr (requires { wire.waiter(); }) return wire.waiter().activity_count();
    return 0;
}

}  // namespace weft::run
