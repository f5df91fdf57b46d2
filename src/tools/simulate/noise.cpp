// SPDX-License-Identifier: BSD-3-Clause
#include "tools/simulate/noise.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/units.hpp"

namespace weft::lab {

namespace {

constexpr int kTableBits = 10;

/// Returns a table: entry i is ln(1 + i / 2^kTableBits), in units of 2^-32.
std::array<std::uint64_t, (1 << kTableBits) + 1> make_logarithms() {
    std::array<std::uint64_t, (1 << kTableBits) + 1> logarithms{};
    for (std::size_t i = 0; i < logarithms.size(); ++i) {
        const double mantissa = 1.0 + static_cast<double>(i) / (1 << kTableBits);  // 1 .. 2
        logarithms[i] = static_cast<std::uint64_t>(std::llround(std::log(mantissa) * 0x1p32));
    }
    return logarithms;
}

/// In the order of enum Distribution.
constexpr std::array<std::string_view, 3> kNames = {"uniform", "normal", "exponential"};

}  // namespace

/// Returns scale * -ln(u) for a random u = mantissa * 2^-k: -ln(u) is k ln 2 - ln(mantissa), with
/// ln(mantissa) interpolated in the table.
Time Noise::exponential(std::uint64_t draw) const {
    static const auto logarithms = make_logarithms();
    constexpr std::uint64_t kLn2 = 2977044472;  // ln 2 in units of 2^-32
    const std::uint64_t bits = draw | 1;
    const auto zeros = static_cast<unsigned>(std::countl_zero(bits));
    const std::uint64_t mantissa = bits << zeros << 1;  // without the leading bit
    const std::size_t entry = mantissa >> (64 - kTableBits);
    const std::uint64_t fraction = mantissa << kTableBits >> 32;
    const std::uint64_t low = logarithms[entry];
    const std::uint64_t step = logarithms[entry + 1] - low;
    const std::uint64_t logarithm = low + (step * fraction >> 32);
    const std::uint64_t value = (zeros + 1) * kLn2 - logarithm;
    return static_cast<Time>(Wide{value} * static_cast<std::uint64_t>(scale_) >> 32);
}

/// Adds twelve uniform draws of 16 bits, and returns the sum's distance from its mean, because
/// delays are never negative.
Time Noise::normal(std::uint64_t draw) const {
    std::int64_t sum = 0;
    for (int word = 0; word < 3; ++word) {
        for (int shift = 0; shift < 64; shift += 16)
            sum += static_cast<std::int64_t>(draw >> shift & 0xffff);
        draw = base::mix(draw + kOdd);
    }
    constexpr std::int64_t kMean = 12 * 0xffff / 2;  // the standard deviation is 2^16
    const auto distance = static_cast<std::uint64_t>(sum < kMean ? kMean - sum : sum - kMean);
    return static_cast<Time>(Wide{distance} * static_cast<std::uint64_t>(scale_) >> 16);
}

base::Result<Noise> parse_noise(std::string_view text, std::uint64_t seed) {
    const std::size_t colon = text.find(':');
    const auto name = std::ranges::find(kNames, text.substr(0, colon));
    if (name == kNames.end())
        return base::fail(Status::argument,
                          "'{}': expected uniform:NS, normal:NS or exponential:NS", text);
    if (colon == std::string_view::npos)
        return base::fail(Status::argument, "'{}': expected {}:NS, the nanoseconds are missing",
                          text, *name);
    const Time scale = WEFT_TRY(base::parse_nanoseconds(text.substr(colon + 1)));
    return Noise(static_cast<Distribution>(name - kNames.begin()), scale, seed);
}

}  // namespace weft::lab
