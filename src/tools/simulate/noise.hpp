// SPDX-License-Identifier: BSD-3-Clause
// noise.hpp - random delays of ranks, equal in all engines.
//
// Idea     A delay is a function of seed, rank, lane and the number of earlier waits of that lane,
//          so the order of an engine's requests does not matter.
// Holds    The arithmetic is on whole numbers: a seed gives the same delays on every machine.
// Next     tools/simulate/noise_distributions.hpp for distributions by name.
#pragma once

#include <cstdint>

#include "base/random.hpp"
#include "tools/simulate/clock.hpp"
#include "weft/types.hpp"

namespace weft::lab {

class Noise {
  public:
    /// Converts 64 random bits to a delay.
    using Distribution = Time (*)(std::uint64_t draw, Time scale);

    /// Constructs noise without delays.
    Noise() = default;
    /// Constructs noise with a distribution; nullptr: uniform in 0..scale.
    Noise(Time scale, std::uint64_t seed, Distribution distribution = nullptr)
        : scale_(scale), key_(base::mix(seed + kOdd)), distribution_(distribution) {}

    [[nodiscard]] bool is_none() const { return scale_ == 0; }

    /// Returns the delay after wait number `wait` of a lane. Consecutive waits count as one.
    [[nodiscard]] Time delay(Rank rank, std::uint32_t lane, std::uint32_t wait) const {
        if (is_none()) return 0;
        const std::uint64_t draw =
            base::mix(key_ ^ base::mix((std::uint64_t{lane} << 32 | wait) * kOdd +
                                       static_cast<std::uint64_t>(rank)));
        return distribution_ == nullptr ? uniform(draw) : distribution_(draw, scale_);
    }

    /// 2^64 divided by the golden ratio: spreads consecutive numbers.
    static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;

  private:
    [[nodiscard]] Time uniform(std::uint64_t draw) const {
        __extension__ using Wide = unsigned __int128;
        return static_cast<Time>(Wide{draw} * (static_cast<std::uint64_t>(scale_) + 1) >> 64);
    }

    Time scale_ = 0;
    std::uint64_t key_ = 0;
    Distribution distribution_ = nullptr;
};

}  // namespace weft::lab
