// SPDX-License-Identifier: BSD-3-Clause
// random.hpp - a small seeded generator, and a seed from the system for nonces.
//
// Idea     The generator is counter-based: draw k of seed s is a mixing function (splitmix64's
//          finalizer) of s and k. A stream is two words, and a printed seed reproduces any draw.
//          stream() derives the streams of ranks or trials from their numbers.
// Holds    A seed results in equal draws on every machine. Random is not for secrets.
#pragma once

#include <cstdint>
#include <limits>

#include "base/result.hpp"

namespace weft::base {

/// Mixes a word: a bijection of 64-bit words without a visible pattern.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t word) noexcept {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
    return word ^ (word >> 31);
}

/// One stream of draws. Fits the standard's UniformRandomBitGenerator.
class Random {
  public:
    using result_type = std::uint64_t;

    explicit constexpr Random(std::uint64_t seed) noexcept : key_(mix(seed + kStride)) {}

    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
    constexpr result_type operator()() noexcept { return mix(key_ + kStride * ++drawn_); }

    /// Returns a uniform number in 0..bound-1, without bias. `bound` must be positive.
    [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept;
    /// Returns a uniform number in [0, 1), a multiple of 2^-53.
    [[nodiscard]] constexpr double unit() noexcept {
        return static_cast<double>((*this)() >> 11) * 0x1.0p-53;
    }
    /// Returns true with probability numerator / denominator.
    [[nodiscard]] bool chance(std::uint64_t numerator, std::uint64_t denominator) noexcept {
        return below(denominator) < numerator;
    }
    /// Returns an independent stream, which depends on the seed and `number`, not on earlier draws.
    [[nodiscard]] constexpr Random stream(std::uint64_t number) const noexcept {
        return Random(key_ ^ mix(number));
    }

  private:
    static constexpr std::uint64_t kStride = 0x9e3779b97f4a7c15U;  // odd: multiples reach each word

    std::uint64_t key_;
    std::uint64_t drawn_ = 0;
};

/// Returns 64 random bits from the system, for secrets, nonces and initial seeds.
Result<std::uint64_t> system_entropy();

}  // namespace weft::base
