// SPDX-License-Identifier: BSD-3-Clause
// keys.hpp - registration keys of one endpoint, if weft chooses them, and seals of immediates.
//
// Idea     A process that knows the address and the key of a region may write it: any process of
//          the host, and with several hosts, any process on the network. So keys are random, with
//          all bits that the provider allows. Ranks receive them on cards.
//          A write needs a key. But libfabric's TCP providers accept an empty write, which needs no
//          key and still has an immediate. So immediates are sealed: an immediate of up to 32 bits
//          has room for secret bits in its upper half, and one with a payload for 20 bits. Ranks
//          compute them from a random key of the target's card. The target drops immediates
//          without the right bits.
// Why      Few providers need small keys: if keys have less than four bytes, too few to be random,
//          and if the profile says so. With such keys, and with keys that the provider chooses,
//          immediates are not sealed.
// Holds    Bits 32 to 62 of an immediate are free for the seal, or bits 43 to 62 if bit 63 is set.
// Next     docs/security.md for possible actions of foreign processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "base/result.hpp"
#include "link/fabric/fabric.hpp"

namespace weft::link {

/// Returns the key of a rank's counter at a target whose memory has `key`. Writes with it are
/// counted. Never 0 or all ones.
[[nodiscard]] constexpr std::uint64_t counted_key(std::uint64_t key, std::uint64_t origin,
                                                  std::uint64_t counter) {
    return (base::mix(key ^ (origin << 8 | counter) * 0x9e37'79b9'7f4a'7c15) >> 1) | 1U;
}

/// Returns `keys` and new ones, `count` different keys of `key_bytes` bytes in all. New ones are
/// never 0 or all ones. If `small`: 1, 2, ...
[[nodiscard]] base::Result<std::vector<std::uint64_t>> draw_keys(
    std::size_t count, std::size_t key_bytes, bool small, std::vector<std::uint64_t> keys = {});

inline constexpr unsigned kPayloadBitsMax = 43;

[[nodiscard]] constexpr std::uint64_t seal_mask(std::uint64_t immediate) noexcept {
    const unsigned free_from = (immediate & kHasPayload) != 0 ? kPayloadBitsMax : 32;
    return (kHasPayload - 1) >> free_from << free_from;
}

/// Returns the secret of a target whose card has this key.
[[nodiscard]] constexpr std::uint64_t seal_of(std::uint64_t key) noexcept {
    return base::mix(key ^ 0x5ea1'5ea1'5ea1'5ea1);
}

[[nodiscard]] constexpr std::uint64_t sealed(std::uint64_t immediate, std::uint64_t seal) noexcept {
    return immediate | (seal & seal_mask(immediate));
}
[[nodiscard]] constexpr bool has_seal(std::uint64_t immediate, std::uint64_t seal) noexcept {
    return ((immediate ^ seal) & seal_mask(immediate)) == 0;
}
[[nodiscard]] constexpr std::uint64_t unsealed(std::uint64_t immediate) noexcept {
    return immediate & ~seal_mask(immediate);
}

}  // namespace weft::link
