// SPDX-License-Identifier: BSD-3-Clause
// noise_distributions.hpp - distributions of noise by name.
//
// Holds    A normal delay is the absolute value of a sum of twelve uniform draws around 0, so it is
//          at most six standard deviations.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "tools/simulate/noise.hpp"

namespace weft::lab {

enum class Distribution : std::uint8_t { uniform, normal, exponential };

/// Makes noise. scale: maximum (uniform), standard deviation (normal) or mean (exponential).
[[nodiscard]] Noise make_noise(Distribution distribution, plan::Time scale, std::uint64_t seed = 1);

/// Parses "uniform:NS", "normal:NS" or "exponential:NS".
[[nodiscard]] base::Result<Noise> parse_noise(std::string_view text, std::uint64_t seed);

}  // namespace weft::lab
