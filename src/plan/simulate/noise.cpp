// SPDX-License-Identifier: BSD-3-Clause
#include "plan/simulate/noise.hpp"

#include <bit>
#include <charconv>
#include <cmath>

#include "plan/simulate/duration.hpp"

namespace weft::plan {

base::Result<NoiseParameters> parse_noise(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    NoiseParameters parameters;
    if (name == "uniform")
        parameters.distribution = Distribution::uniform;
    else if (name == "normal")
        parameters.distribution = Distribution::normal;
    else if (name == "exponential")
        parameters.distribution = Distribution::exponential;
    else
        return base::fail(Status::argument,
                          "'{}': expected uniform:NS, normal:NS or exponential:NS", text);
    if (colon == std::string_view::npos)
        return base::fail(Status::argument, "'{}': expected {}:NS, the nanoseconds are missing",
                          text, name);
    const base::Result<Time> scale = parse_nanoseconds(text.substr(colon + 1));
    if (!scale) return scale.failure();
    parameters.scale = *scale;
    return parameters;
}

Noise::Noise(const NoiseParameters& parameters)
    : distribution_(parameters.distribution),
      scale_(parameters.distribution == Distribution::none ? 0 : parameters.scale),
      key_(base::mix(parameters.seed + kOdd)) {
    if (distribution_ != Distribution::exponential) return;
    for (std::size_t i = 0; i < logarithms_.size(); ++i) {
        const double mantissa = 1.0 + static_cast<double>(i) / (1 << kTableBits);  // 1 .. 2
        logarithms_[i] = static_cast<std::uint64_t>(std::llround(std::log(mantissa) * 0x1p32));
    }
}

Time Noise::shaped(std::uint64_t draw) const {
    return distribution_ == Distribution::normal ? normal(draw) : exponential(draw);
}

/// -ln(u) with u = mantissa * 2^-k: k ln 2 - ln(mantissa), the latter from the table.
Time Noise::exponential(std::uint64_t draw) const {
    constexpr std::uint64_t kLn2 = 2977044472;  // ln 2 in units of 2^-32
    const std::uint64_t bits = draw | 1;
    const auto zeros = static_cast<unsigned>(std::countl_zero(bits));
    const std::uint64_t mantissa = bits << zeros << 1;  // without the leading one
    const std::size_t entry = mantissa >> (64 - kTableBits);
    const std::uint64_t between = mantissa << kTableBits >> 32;
    const std::uint64_t low = logarithms_[entry];
    const std::uint64_t step = logarithms_[entry + 1] - low;
    const std::uint64_t logarithm = low + (step * between >> 32);
    const std::uint64_t value = (zeros + 1) * kLn2 - logarithm;
    return static_cast<Time>(Wide{value} * static_cast<std::uint64_t>(scale_) >> 32);
}

/// The distance from the mean: clocks are delayed, never hurried.
Time Noise::normal(std::uint64_t draw) const {
    std::int64_t sum = 0;
    for (int word = 0; word < 3; ++word) {
        for (int shift = 0; shift < 64; shift += 16)
            sum += static_cast<std::int64_t>(draw >> shift & 0xffff);
        draw = base::mix(draw + kOdd);
    }
    constexpr std::int64_t kMean = 12 * 0xffff / 2;  // and a standard deviation of 2^16
    const auto distance = static_cast<std::uint64_t>(sum < kMean ? kMean - sum : sum - kMean);
    return static_cast<Time>(Wide{distance} * static_cast<std::uint64_t>(scale_) >> 16);
}

}  // namespace weft::plan
