// SPDX-License-Identifier: BSD-3-Clause
// network.hpp - concepts of the wire and the engine that one-sided calls use.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "base/put.hpp"
#include "base/reach.hpp"
#include "base/result.hpp"

namespace weft::run {

// clang-format 14 splits compound requirements.
// clang-format off
/// Puts, reads and kernel copies. src/link/wire/wire.hpp and encoding.hpp describe the members.
template <class T>
concept Network = requires(T wire, const base::Put& put, const base::Read& read,
                           std::uint64_t& resume, std::uint64_t bytes, const base::Reach& reach,
                           std::byte* into, const std::byte* from, Rank rank,
                           std::uint32_t writes, const char* text) {
    { wire.near(rank) } noexcept -> std::same_as<std::byte*>;
    { wire.segment_bytes() } noexcept -> std::same_as<std::uint64_t>;
    { wire.try_put(put, resume) } noexcept -> std::same_as<base::Post>;
    { wire.try_read(read, resume) } noexcept -> std::same_as<base::Post>;
    { wire.memory().copy_from(rank, reach, into, bytes) } noexcept -> std::same_as<bool>;
    { wire.memory().copy_to(rank, reach, from, bytes) } noexcept -> std::same_as<bool>;
    { wire.settle(std::uint64_t{}) } noexcept;
    { wire.remote() } noexcept -> std::same_as<const base::RemoteFacts&>;
    { wire.counts().written_to(rank) } noexcept -> std::same_as<std::uint64_t>;
    { wire.counts().close_batch(rank) } noexcept -> std::same_as<std::uint32_t>;
    { wire.counts().take_batch(rank, writes) } noexcept -> std::same_as<bool>;
    { wire.distrust(rank, text) } noexcept;
};

/// Drives the engine. await() returns true when ended() returns true. It returns false if the wait
/// for `rank` (-1: for no rank) cannot succeed; then failure() has the reason. waits() describes
/// the wait for reports. deaths() has the ranks that are known to be dead.
template <class T>
concept Driver = requires(T driver, bool (*ended)(), std::string (*waits)(), Rank rank) {
    { driver.await(ended, waits, rank) } -> std::same_as<bool>;
    { driver.deaths().contains(rank) } -> std::same_as<bool>;
    { driver.failure() } -> std::convertible_to<const base::Failure&>;
};
// clang-format on

}  // namespace weft::run
