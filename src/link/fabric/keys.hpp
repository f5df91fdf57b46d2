// SPDX-License-Identifier: BSD-3-Clause
// keys.hpp - secrets of one endpoint: registration keys, if weft chooses them, and seals.
//
// Idea     A process that can reach this rank over the network can write to a region whose address
//          and key it knows. So keys are random, with all bits that the provider allows. Ranks
//          learn them from cards. Exception: keys are 1, 2, ... if the profile requests small keys,
//          or if keys have fewer than four bytes, too few for a secret.
//          libfabric's TCP providers accept a write of 0 bytes without a key, and deliver its
//          immediate. So the unused high bits of immediates contain a secret, the *seal*, which
//          ranks compute from a random key on the target's card. The target drops immediates with
//          another seal.
// Holds    The seal has bits 32 to 62 of an immediate, or bits 43 to 62 if bit 63 is set
//          (kHasPayload). Seals need random keys of 8 bytes, and immediates of 8 bytes.
// Next     docs/security.md for possible actions of foreign processes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "base/result.hpp"
#include "link/fabric/fabric.hpp"
#include "link/fabric/profile.hpp"

namespace weft::link {

/// Returns the registration key of a counter: writes with this key are counted by number `counter`
/// of the target's counters for rank `origin`. key: of the target's memory. Never 0 or all ones.
[[nodiscard]] constexpr std::uint64_t counted_key(std::uint64_t key, std::uint64_t origin,
                                                  std::uint64_t counter) {
    return (base::mix(key ^ (origin << 8 | counter) * 0x9e37'79b9'7f4a'7c15) >> 1) | 1U;
}

/// Extends `keys` to `count` different keys of `key_bytes` bytes. New keys are random, and never 0
/// or all ones. If `small` is true or `key_bytes` is less than 4, they are 1, 2, ...
inline base::Result<std::vector<std::uint64_t>> draw_keys(std::size_t count, std::size_t key_bytes,
                                                          bool small,
                                                          std::vector<std::uint64_t> keys = {}) {
    constexpr std::size_t kRandomBytesMin = 4;
    const std::size_t bytes = std::min(key_bytes, sizeof(std::uint64_t));
    const std::uint64_t key_max = ~std::uint64_t{0} >> (8 * (sizeof(std::uint64_t) - bytes) & 63U);
    while (keys.size() < count) {
        std::uint64_t key = keys.size() + 1;
        if (!small && bytes >= kRandomBytesMin) key = WEFT_TRY(base::system_entropy()) & key_max;
        if (key != 0 && key != key_max && std::ranges::find(keys, key) == keys.end())
            keys.push_back(key);
    }
    return keys;
}

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
