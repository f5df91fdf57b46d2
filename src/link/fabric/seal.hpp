// SPDX-License-Identifier: BSD-3-Clause
// seal.hpp - secret bits of an immediate, which prove that a rank of the job sent it.
//
// Idea     An immediate of up to 32 bits has room for secret bits in its upper half. Ranks compute
//          them from a random key of the target's card. An immediate with a payload leaves 20 bits.
//          Immediates without the right secret are dropped without an answer.
// Why      A write needs a key. But libfabric's TCP providers accept an empty write, which needs no
//          key and still has an immediate. Any process that reaches an endpoint can send one, and
//          could raise flags or end the job.
// Holds    Bits 32 to 62 of an immediate are free, or bits 43 to 62 if bit 63 is set. If the
//          provider chooses keys, or if keys are small, seals are not used.
// Next     keys.hpp for the keys; docs/security.md for possible actions of foreign processes.
#pragma once

#include <cstdint>

#include "base/random.hpp"

namespace weft::link {

/// Set by the wire in an immediate with a payload; see facts().signals.
inline constexpr std::uint64_t kHasPayload = std::uint64_t{1} << 63;
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
