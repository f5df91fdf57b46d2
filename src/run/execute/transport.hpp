// SPDX-License-Identifier: BSD-3-Clause
// transport.hpp - functions that the engine requires of a wire.
//
// Holds    If try_put() returns `again`, a part of the put may be posted. The caller must repeat it
//          with an equal put and its `resume` until it returns `posted`. Only relax() may block.
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
                             std::uint64_t bytes, unsigned idle_polls, std::byte* memory,
                             const base::Reach& reach, const base::Exposure& exposure,
                             const base::Copies& copies) {
    /// Posts a put. `resume` is 0 at the first attempt and belongs to the wire until `posted`.
    { wire.try_put(put, resume) } noexcept -> std::same_as<base::Post>;
    /// Returns the start of a rank's segment if it is mapped (always for this rank), or nullptr.
    { wire.near(rank) } noexcept -> std::same_as<std::byte*>;
    { wire.segment_bytes() } noexcept -> std::same_as<std::uint64_t>;
    /// Makes memory of this rank accessible to local peers until unexpose(). `bytes`: its size, or
    /// 0 if its pages must not be remapped. `copies`: copies by the kernel if peers cannot map it.
    { wire.memory().expose(memory, bytes, base::Access::read, copies) } noexcept
        -> std::same_as<base::Exposure>;
    /// Registers memory for puts of remote ranks. Fails if the network refuses it.
    { wire.memory().expose_far(memory, bytes) } noexcept
        -> std::same_as<base::Result<base::Exposure>>;
    { wire.memory().unexpose(exposure) } noexcept;
    /// Ends an exposure after a failure, and revokes the peers' access as far as possible.
    { wire.memory().revoke(exposure) } noexcept;
    /// Returns the address of memory that a peer exposed, or nullptr if only the kernel copies it.
    { wire.memory().reach(rank, reach, bytes) } noexcept -> std::same_as<std::byte*>;
    /// Copies by the kernel from or to a local peer. Returns false and sets errno on failure.
    { wire.memory().copy_from(rank, reach, memory, bytes) } noexcept -> std::same_as<bool>;
    { wire.memory().copy_to(rank, reach, memory, bytes) } noexcept -> std::same_as<bool>;
    /// Advances incoming data and completions.
    { wire.progress() } noexcept;
    /// Raises the flag of this rank's cell at an offset in its segment if the put to the cell has
    /// been delivered without an immediate. Called while a step waits for a remote peer's flag.
    { wire.settle(std::uint64_t{}) } noexcept;
    /// Pauses, yields or sleeps. Called between polls. `idle_polls`: last polls without effect.
    { wire.relax(idle_polls) } noexcept;
    /// Ends transfers with a rank that has died. Later puts to it count as posted, without effect.
    { wire.lose(rank) } noexcept;
    /// Fails the wire: after that, no transfer accesses memory or `pending`.
    { wire.cancel() } noexcept;
    /// Returns the failure of the network or of a peer, or nullptr.
    { wire.failure() } noexcept -> std::same_as<const base::Failure*>;
};
// clang-format on

/// Returns the wire's count of arrivals and completions, or 0 if the wire does not count them.
template <Transport Wire>
[[nodiscard]] std::uint64_t activity_of(const Wire& wire) noexcept {
    if constexpr (requires { wire.waiter(); }) return wire.waiter().activity_count();
    return 0;
}

}  // namespace weft::run
