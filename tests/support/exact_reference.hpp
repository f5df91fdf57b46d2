// SPDX-License-Identifier: BSD-3-Clause
// exact_reference.hpp - sums with multiple precision, for tests of exact sums.
//
// Idea     A sum is a list of bits in two's complement. Additions and the rounding go bit by bit or
//          byte by byte, so they share no code and no idea with the library.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>

#include "weft/elements.hpp"

namespace weft::test {

/// Exact sum of doubles and of products of two doubles, as a number of 2^-2200 in base 256.
class ReferenceSum {
  public:
    void add(double value) { add_product(value, 1.0); }
    void add_product(double left, double right) {
        ++values_;
        const double plain = left * right;
        if (!std::isfinite(left) || !std::isfinite(right)) {
            if (std::isnan(plain) || plain > 0) positive_ = true;
            if (std::isnan(plain) || plain < 0) negative_ = true;
            return;
        }
        if (left == 0 || right == 0) {
            negative_zeros_ += std::signbit(plain) ? 1 : 0;
            return;
        }
        int left_exponent;
        int right_exponent;
        const auto a = static_cast<std::int64_t>(std::ldexp(std::frexp(left, &left_exponent), 53));
        const auto b =
            static_cast<std::int64_t>(std::ldexp(std::frexp(right, &right_exponent), 53));
        const int place = left_exponent + right_exponent - 106 + kBase;
        for (int bit = 0; bit < 53; ++bit)  // schoolbook multiplication by the bits of |b|
            if ((std::abs(b) >> bit & 1) != 0) add_shifted(b < 0 ? -a : a, place + bit);
    }
    /// Rounds to nearest, ties to even. precision: bits of a number; least: exponent of the
    /// smallest one; limit: numbers are below 2^limit.
    [[nodiscard]] double rounded(int precision, int least, int limit) const {
        if (positive_ && negative_) return std::numeric_limits<double>::quiet_NaN();
        if (positive_ || negative_) return positive_ ? HUGE_VAL : -HUGE_VAL;
        if (values_ != 0 && negative_zeros_ == values_) return -0.0;
        const bool minus = bytes_.back() >= 128;
        Bytes magnitude = bytes_;
        if (minus) {
            int carry = 1;
            for (auto& byte : magnitude) {
                const int sum = (255 - byte) + carry;
                byte = static_cast<std::uint8_t>(sum);
                carry = sum >> 8;
            }
        }
        const auto bit = [&](int i) { return i < 0 ? 0 : magnitude[i / 8] >> i % 8 & 1; };
        int top = kBits - 1;
        while (top >= 0 && magnitude[top / 8] == 0) top -= 8;
        while (top >= 0 && bit(top) == 0) --top;
        if (top < 0) return 0.0;
        const int last = std::max(top - precision + 1, least + kBase);
        std::uint64_t kept = 0;
        for (int i = top; i >= last; --i) kept = 2 * kept + static_cast<std::uint64_t>(bit(i));
        const int end = std::max(0, std::min(last - 1, top + 1));  // end of the bits below the half
        bool below_half = false;
        for (int i = end & ~7; i < end; ++i) below_half = below_half || bit(i) != 0;
        for (int i = 0; i < end / 8; ++i) below_half = below_half || magnitude[i] != 0;
        if (bit(last - 1) != 0 && (below_half || kept % 2 == 1)) ++kept;
        const double result = std::ldexp(static_cast<double>(kept), last - kBase);
        return std::copysign(result >= std::ldexp(1.0, limit - 1) * 2 ? HUGE_VAL : result,
                             minus ? -1.0 : 1.0);
    }
    template <class T>
    [[nodiscard]] T rounded_to() const {
        if constexpr (std::is_same_v<T, double>) return rounded(53, -1074, 1024);
        if constexpr (std::is_same_v<T, float>) return static_cast<float>(rounded(24, -149, 128));
        if constexpr (std::is_same_v<T, Float16>)
            return T(static_cast<float>(rounded(11, -24, 16)));
        if constexpr (std::is_same_v<T, BFloat16>)
            return T(static_cast<float>(rounded(8, -133, 128)));
    }

  private:
    static constexpr int kBase = 2200;
    static constexpr int kBytes = 560;
    static constexpr int kBits = 8 * kBytes;
    using Bytes = std::array<std::uint8_t, kBytes>;

    void add_shifted(std::int64_t number, int place) {
        const bool minus = number < 0;
        std::uint64_t rest = static_cast<std::uint64_t>(minus ? -number : number);
        int carry = 0;
        for (int at = place / 8, shift = place % 8; at < kBytes; ++at, shift = 0) {
            const auto low = static_cast<int>(rest << shift & 255);
            rest >>= 8 - shift;
            const int sum = minus ? bytes_[at] - low + carry : bytes_[at] + low + carry;
            bytes_[at] = static_cast<std::uint8_t>(sum);
            carry = sum >> 8;
            if (rest == 0 && carry == 0) break;
        }
    }

    Bytes bytes_{};
    bool positive_ = false;
    bool negative_ = false;
    std::size_t values_ = 0;
    std::size_t negative_zeros_ = 0;
};

/// Returns true if two values have the same bits.
template <class T>
bool same_bits(const T& a, const T& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Kinds of values whose sums are hard to round.
enum class Hard : std::uint8_t {
    similar,      ///< magnitudes within a factor of 2^10
    wide,         ///< magnitudes over the whole range of the type
    cancelling,   ///< each value is followed by nearly its negative
    subnormal,    ///< near the least number
    ties,         ///< a large value, and values near half its last place
    signed_zero,  ///< zeros of both signs, mostly negative
    special,      ///< some infinities and NaNs
};
inline constexpr int kHardKinds = 7;

/// Returns value `i` of the sequence that `kind` and `seed` determine.
template <class T>
T hard_value(Hard kind, std::uint64_t seed, std::uint64_t i) {
    const auto mix = [](std::uint64_t x) {  // splitmix64
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
        x = (x ^ x >> 27) * 0x94d049bb133111ebU;
        return x ^ x >> 31;
    };
    const std::uint64_t bits = mix(mix(seed * 0x9e3779b97f4a7c15U + 1) + i);
    const double sign = bits % 2 == 0 ? 1.0 : -1.0;
    const double fraction = 1.0 + static_cast<double>(bits >> 12) * 0x1p-52;
    constexpr bool kNarrow = std::is_same_v<T, Float16>;
    constexpr int kRange = std::is_same_v<T, double> ? 996 : kNarrow ? 14 : 120;
    constexpr int kLeast = std::is_same_v<T, double> ? -1074 : kNarrow ? -24 : -140;
    const auto made = [](double value) {
        if constexpr (std::is_same_v<T, double>)
            return value;
        else
            return T(static_cast<float>(value));
    };
    switch (kind) {
        case Hard::similar:
            return made(sign * std::ldexp(fraction, static_cast<int>(bits >> 2 & 7)));
        case Hard::wide:
            return made(sign * std::ldexp(fraction,
                                          static_cast<int>(mix(bits + 1) % (2 * kRange)) - kRange));
        case Hard::cancelling: {
            const int exponent = static_cast<int>((seed + i / 2) % (2 * kRange)) - kRange;
            return made((i % 2 == 0 ? 1.0 : -1.0) *
                        std::ldexp((bits >> 3 & 1) != 0 ? 1 + 0x1p-7 : 1.0, exponent));
        }
        case Hard::subnormal:
            return made(sign * std::ldexp(static_cast<double>(bits >> 60), kLeast));
        case Hard::ties:
            return made(bits % 16 == 0 ? 1.0 : std::ldexp(sign, -static_cast<int>(bits >> 4 & 63)));
        case Hard::signed_zero:
            return made(bits % 64 == 0 ? 0.0 : -0.0);
        case Hard::special:
            if (bits % 997 == 0) return made(sign * HUGE_VAL);
            if (bits % 1999 == 0) return made(std::nan(""));
            return made(sign * fraction);
    }
    return T{};
}

}  // namespace weft::test
