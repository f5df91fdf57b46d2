// SPDX-License-Identifier: BSD-3-Clause
// noise.hpp - delays that strike ranks at random, the same ones in every engine.
//
// Idea     A delay is a function of (seed, rank, lane, how many times that lane has waited before),
//          so it does not matter in which order an engine comes to ask.
// Holds    Whole numbers throughout: the same seed gives the same delays on every machine. The normal
//          distribution is the sum of twelve uniform draws, cut at six standard deviations.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/random.hpp"
#include "base/result.hpp"
#include "plan/simulate/model.hpp"
#include "weft/types.hpp"

namespace weft::plan {

enum class Distribution : std::uint8_t { none, uniform, normal, exponential };

struct NoiseParameters {
    Distribution distribution = Distribution::none;
    Time scale =
        0;  ///< uniform: the longest; normal: the standard deviation; exponential: the mean
    std::uint64_t seed = 1;
};

/// "uniform:NS", "normal:NS" or "exponential:NS".
[[nodiscard]] base::Result<NoiseParameters> parse_noise(std::string_view text);

class Noise {
  public:
    explicit Noise(const NoiseParameters& parameters);

    [[nodiscard]] bool silent() const { return scale_ == 0; }

    /// The delay after wait number `wait` (consecutive ones count as one) of a lane.
    [[nodiscard]] Time delay(Rank rank, std::uint32_t lane, std::uint32_t wait) const {
        if (silent()) return 0;
        const std::uint64_t draw =
            base::mix(key_ ^ base::mix((std::uint64_t{lane} << 32 | wait) * kOdd +
                                       static_cast<std::uint64_t>(rank)));
        return distribution_ == Distribution::uniform ? scaled(draw) : shaped(draw);
    }

  private:
    __extension__ using Wide = unsigned __int128;
    static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
    static constexpr int kTableBits = 10;

    [[nodiscard]] Time scaled(std::uint64_t fraction) const {
        return static_cast<Time>(Wide{fraction} * (static_cast<std::uint64_t>(scale_) + 1) >> 64);
    }
    [[nodiscard]] Time shaped(std::uint64_t draw) const;
    [[nodiscard]] Time exponential(std::uint64_t draw) const;
    [[nodiscard]] Time normal(std::uint64_t draw) const;

    Distribution distribution_;
    Time scale_;
    std::uint64_t key_;
    /// -ln(1 - i / 2^kTableBits / 2) in units of 2^-32, for the mantissa of an exponential draw.
    std::array<std::uint64_t, (1 << kTableBits) + 1> logarithms_{};
};

}  // namespace weft::plan
