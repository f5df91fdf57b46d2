// SPDX-License-Identifier: BSD-3-Clause
// noise.hpp - random delays of ranks, the same ones in every engine.
//
// Idea     A delay is a function of (seed, rank, lane, how many times that lane has waited before),
//          so it does not matter in which order an engine comes to ask.
// Holds    Whole numbers throughout: the same seed gives the same delays on every machine.
// Next     lab/simulate/noise_distributions.hpp for distributions by name.
#pragma once

#include <cstdint>

#include "base/random.hpp"
#include "plan/simulate/model.hpp"
#include "weft/types.hpp"

namespace weft::plan {

class Noise {
  public:
    /// The delay for a draw of 64 random bits.
    using Distribution = Time (*)(std::uint64_t draw, Time scale);

    /// No delays.
    Noise() = default;
    /// Without a distribution delays are uniform in 0..scale.
    Noise(Time scale, std::uint64_t seed, Distribution distribution = nullptr)
        : scale_(scale), key_(base::mix(seed + kOdd)), distribution_(distribution) {}

    [[nodiscard]] bool is_none() const { return scale_ == 0; }

    /// The delay after wait number `wait` (consecutive ones count as one) of a lane.
    [[nodiscard]] Time delay(Rank rank, std::uint32_t lane, std::uint32_t wait) const {
        if (is_none()) return 0;
        const std::uint64_t draw =
            base::mix(key_ ^ base::mix((std::uint64_t{lane} << 32 | wait) * kOdd +
                                       static_cast<std::uint64_t>(rank)));
        return distribution_ == nullptr ? uniform(draw) : distribution_(draw, scale_);
    }

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

}  // namespace weft::plan
