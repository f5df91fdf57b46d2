// SPDX-License-Identifier: BSD-3-Clause
// seal.hpp - what in an immediate proves that it comes from a rank of the job.
//
// Idea     An immediate of up to 32 bits leaves the others of its 64 to a secret of its target,
//          which ranks compute from a random key of the target's card; one with a payload leaves
//          20 bits. What arrives without the right secret is dropped, and not answered.
// Why      A write names a key, but libfabric's TCP providers take one to no place, which names
//          none and still has an immediate. Any process that reaches an endpoint can send that, and
//          could raise flags or end the job.
// Holds    Bits 32 to 62 of an immediate are free below, 43 to 62 where bit 63 is set. Where keys
//          are chosen by the provider, or are small, there are no seals.
// Next     keys.hpp for the keys; docs/security.md for what a stranger may do.
#pragma once

#include <cstdint>

#include "base/random.hpp"

namespace weft::link {

/// Set in an immediate with a payload, as the wire sets it; see facts().signals.
inline constexpr std::uint64_t kHasPayload = std::uint64_t{1} << 63;
inline constexpr unsigned kPayloadBitsMax = 43;

[[nodiscard]] constexpr std::uint64_t seal_mask(std::uint64_t immediate) noexcept {
    const unsigned free_from = (immediate & kHasPayload) != 0 ? kPayloadBitsMax : 32;
    return (kHasPayload - 1) >> free_from << free_from;
}

/// The secret of a target whose card has this key.
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
