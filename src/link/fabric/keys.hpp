// SPDX-License-Identifier: BSD-3-Clause
// keys.hpp - registration keys of one endpoint, if weft chooses them.
//
// Idea     A process that knows the address and the key of a region may write it: any process of
//          the host, and with several hosts, any process on the network. So keys are random, with
//          all bits that the provider allows. Ranks receive them on cards.
// Why      Few providers need small keys: if keys have less than four bytes, too few to be random,
//          and if the profile says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "base/result.hpp"

namespace weft::link {

/// Returns the key of a rank's counter at a target whose memory has `key`. Writes with it are
/// counted. Never 0 or all ones.
[[nodiscard]] constexpr std::uint64_t counted_key(std::uint64_t key, std::uint64_t origin,
                                                  std::uint64_t counter) {
    return (base::mix(key ^ (origin << 8 | counter) * 0x9e37'79b9'7f4a'7c15) >> 1) | 1U;
}

/// Returns `count` different keys of `key_bytes` bytes, never 0 or all ones. If `small`: 1, 2, ...
[[nodiscard]] base::Result<std::vector<std::uint64_t>> draw_keys(std::size_t count,
                                                                 std::size_t key_bytes, bool small);

/// Adds keys to existing ones, until there are `count` different keys.
[[nodiscard]] base::Result<void> add_keys(std::vector<std::uint64_t>& keys, std::size_t count,
                                          std::size_t key_bytes, bool small);

}  // namespace weft::link
