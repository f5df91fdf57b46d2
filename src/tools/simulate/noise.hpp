// SPDX-License-Identifier: BSD-3-Clause
// noise.hpp - random delays of ranks, equal in all engines.
//
// Idea     A delay is a function of seed, rank, lane and the number of earlier waits of that lane,
//          so the order of an engine's requests does not matter.
// Holds    The arithmetic is on whole numbers: a seed gives the same delays on every machine. A
//          normal delay is the absolute value of a sum of twelve uniform draws around 0, so it is
//          at most six standard deviations.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/random.hpp"
#include "base/result.hpp"
#include "tools/simulate/clock.hpp"
#include "weft/types.hpp"

namespace weft::lab {

enum class Distribution : std::uint8_t { uniform, normal, exponential };

class Noise {
  public:
    /// Constructs noise without delays.
    Noise() = default;
    /// scale: maximum (uniform), standard deviation (normal) or mean (exponential).
    Noise(Distribution distribution, Time scale, std::uint64_t seed = 1)
        : scale_(scale), key_(base::mix(seed + kOdd)), distribution_(distribution) {}

    [[nodiscard]] bool is_none() const { return scale_ == 0; }

    /// Returns the delay after wait number `wait` of a lane. Consecutive waits count as one.
    [[nodiscard]] Time delay(Rank rank, std::uint32_t lane, std::uint32_t wait) const {
        if (is_none()) return 0;
        const std::uint64_t draw =
            base::mix(key_ ^ base::mix((std::uint64_t{lane} << 32 | wait) * kOdd +
                                       static_cast<std::uint64_t>(rank)));
        if (distribution_ == Distribution::uniform) return uniform(draw);
        return distribution_ == Distribution::normal ? normal(draw) : exponential(draw);
    }

  private:
    /// 2^64 divided by the golden ratio: spreads consecutive numbers.
    static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
    __extension__ using Wide = unsigned __int128;

    // Each converts 64 random bits to a delay.
    [[nodiscard]] Time uniform(std::uint64_t draw) const {
        return static_cast<Time>(Wide{draw} * (static_cast<std::uint64_t>(scale_) + 1) >> 64);
    }
    [[nodiscard]] Time normal(std::uint64_t draw) const;
    [[nodiscard]] Time exponential(std::uint64_t draw) const;

    Time scale_ = 0;
    std::uint64_t key_ = 0;
    Distribution distribution_ = Distribution::uniform;
};

/// Parses "uniform:NS", "normal:NS" or "exponential:NS".
[[nodiscard]] base::Result<Noise> parse_noise(std::string_view text, std::uint64_t seed);

}  // namespace weft::lab
