// SPDX-License-Identifier: BSD-3-Clause
// seals.hpp - secrets in immediates, which show that the sender belongs to the job.
//
// Idea     libfabric's TCP providers accept a write of 0 bytes without a key, and deliver its
//          immediate. So the unused high bits of immediates contain a secret, the *seal*. Ranks
//          compute the seal from a random key on the target's card. The target drops immediates
//          with another seal.
// Holds    The seal has bits 32 to 62 of an immediate, or bits 43 to 62 if bit 63 is set
//          (kHasPayload). Seals need random keys of 8 bytes, and immediates of 8 bytes.
// Next     keys.hpp for the keys; docs/security.md for possible actions of foreign processes.
#pragma once

#include <cstdint>

#include "base/random.hpp"
#include "link/fabric/fabric.hpp"
#include "link/fabric/profile.hpp"

namespace weft::link {

/// Returns the seal of a target. key: the key of PortCard::landing.
[[nodiscard]] constexpr std::uint64_t seal_of(std::uint64_t key) noexcept {
    return base::mix(key ^ 0x5ea1'5ea1'5ea1'5ea1);
}

class Seals {
  public:
    Seals(const Grant& grant, const Profile& profile)
        : enabled_(!grant.provider_keys && !profile.small_keys &&
                   grant.key_bytes >= sizeof(std::uint64_t) &&
                   grant.immediate_bytes >= sizeof(std::uint64_t)) {}

    /// Sets the seal that accepts() expects, from the key of this port's landing.
    void set_own(std::uint64_t key) noexcept { own_ = seal_of(key); }
    [[nodiscard]] std::uint64_t add(std::uint64_t immediate, std::uint64_t seal) const noexcept {
        return enabled_ ? immediate | (seal & mask(immediate)) : immediate;
    }
    [[nodiscard]] bool accepts(std::uint64_t immediate) const noexcept {
        return !enabled_ || ((immediate ^ own_) & mask(immediate)) == 0;
    }
    [[nodiscard]] std::uint64_t remove(std::uint64_t immediate) const noexcept {
        return enabled_ ? immediate & ~mask(immediate) : immediate;
    }

  private:
    static constexpr unsigned kPayloadBitsMax = 43;  // bits of a payload; the seal is above

    /// Returns the bits of the seal in this immediate.
    [[nodiscard]] static constexpr std::uint64_t mask(std::uint64_t immediate) noexcept {
        const unsigned free_from = (immediate & kHasPayload) != 0 ? kPayloadBitsMax : 32;
        return (kHasPayload - 1) >> free_from << free_from;
    }

    bool enabled_;
    std::uint64_t own_ = 0;
};

}  // namespace weft::link
