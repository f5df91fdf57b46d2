// SPDX-License-Identifier: BSD-3-Clause
// keys.hpp - registration keys of one endpoint, if weft chooses them.
//
// Idea     A process that can reach this rank over the network can write to a region whose address
//          and key it knows. So keys are random, with all bits that the provider allows. Ranks
//          learn them from cards. Exception: keys are 1, 2, ... if the profile requests small keys,
//          or if keys have fewer than four bytes, too few for a secret.
// Next     seals.hpp, whose secrets depend on keys; docs/security.md for what foreign processes can
//          do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "base/result.hpp"
#include "link/fabric/fabric.hpp"

namespace weft::link {

/// Returns the registration key of a counter at the target: writes with this key are counted by
/// number `counter` of the target's counters for rank `origin`. key: the key of the target's
/// memory. Never returns 0 or all ones.
[[nodiscard]] constexpr std::uint64_t counted_key(std::uint64_t key, std::uint64_t origin,
                                                  std::uint64_t counter) {
    return (base::mix(key ^ (origin << 8 | counter) * 0x9e37'79b9'7f4a'7c15) >> 1) | 1U;
}

/// Extends `keys` to `count` different keys of `key_bytes` bytes. New keys are random, and never 0
/// or all ones. If `small` is true or `key_bytes` is less than 4, they are 1, 2, ...
[[nodiscard]] inline base::Result<std::vector<std::uint64_t>> draw_keys(
    std::size_t count, std::size_t key_bytes, bool small, std::vector<std::uint64_t> keys = {}) {
    constexpr std::size_t kRandomBytesMin = 4;
    const std::size_t bytes = std::min(key_bytes, sizeof(std::uint64_t));
    const std::uint64_t key_max = ~std::uint64_t{0} >> (8 * (sizeof(std::uint64_t) - bytes) & 63U);
    while (keys.size() < count) {
        std::uint64_t key = keys.size() + 1;
        if (!small && bytes >= kRandomBytesMin) {
            const auto drawn = base::system_entropy();
            if (!drawn) return drawn.failure();
            key = *drawn & key_max;
        }
        if (key != 0 && key != key_max && std::ranges::find(keys, key) == keys.end())
            keys.push_back(key);
    }
    return keys;
}

}  // namespace weft::link
