// SPDX-License-Identifier: BSD-3-Clause
// network.hpp - what one-sided calls need from a wire, and from the engine while they wait.
//
// Idea     As the engine's transport: an interface that belongs to its user, no virtual call.
// Next     onesided.hpp for the calls.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "base/put.hpp"
#include "base/reach.hpp"
#include "base/result.hpp"
#include "base/transfer.hpp"

namespace weft::run {

// clang-format 14 splits compound requirements.
// clang-format off
template <class T>
concept Network = requires(T wire, const base::Put& put, const base::Write& write,
                           const base::Read& read, std::uint64_t& resume, std::uint64_t offset,
                           const base::Reach& reach, std::byte* into, const std::byte* from,
                           Rank rank, std::uint32_t transfers, const char* text) {
    /// Base of a rank's segment if loads and stores reach it (always for this rank), else nullptr.
    { wire.near(rank) } noexcept -> std::same_as<std::byte*>;
    { wire.segment_bytes() } noexcept -> std::same_as<std::uint64_t>;
    /// Data with a flag; data without; both repeated with the same arguments on `again`.
    { wire.try_put(put, resume) } noexcept -> std::same_as<base::Post>;
    { wire.try_write(write, resume) } noexcept -> std::same_as<base::Post>;
    { wire.try_read(read, resume) } noexcept -> std::same_as<base::Post>;
    /// The kernel copies between memory of a near rank and this one's; false: it refuses.
    { wire.copy_from(rank, reach, into, offset) } noexcept -> std::same_as<bool>;
    { wire.copy_to(rank, reach, from, offset) } noexcept -> std::same_as<bool>;
    /// Raises the flag of this rank's cell at that offset if something has landed for it.
    { wire.settle(offset) } noexcept;
    { wire.completion() } noexcept -> std::same_as<base::RemoteCompletion>;
    { wire.written_to(rank) } noexcept -> std::same_as<std::uint64_t>;
    /// Where writes are counted: ends a batch here, and takes one at the target once it has landed.
    { wire.close_batch(rank) } noexcept -> std::same_as<std::uint32_t>;
    { wire.take_batch(rank, transfers) } noexcept -> std::same_as<bool>;
    { wire.whole_words() } noexcept -> std::same_as<bool>;
    { wire.reads() } noexcept -> std::same_as<bool>;
    { wire.signals() } noexcept -> std::same_as<bool>;
    /// A far rank has sent what none of this library sends: waits fail with this text.
    { wire.distrust(rank, text) } noexcept;
};

/// Drives everything of this rank until `ended` holds; `waits` describes the wait if it takes long.
/// False: it cannot succeed any more, and failure() has the reason.
template <class T>
concept Driver = requires(T driver, bool (*ended)(), std::string (*waits)()) {
    { driver.await(ended, waits) } -> std::same_as<bool>;
    { driver.failure() } -> std::convertible_to<const base::Failure&>;
};
// clang-format on

}  // namespace weft::run
