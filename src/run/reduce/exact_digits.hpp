// SPDX-License-Identifier: BSD-3-Clause
// exact_digits.hpp - values of exact sums, sums as fixed-point numbers, and their rounding.
//
// Idea     A finite double is an integer below 2^53 times a power of two. Digit i of a fixed-point
//          number has the weight 2^(44 i). A digit is a signed 64-bit integer to which a value adds
//          at most 44 bits, so 2^19 values can be added before carries must move. Additions of
//          integers give the same result in any order.
// Holds    No function except widen() computes in floating point, so rounding modes of the caller
//          do not matter.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "weft/elements.hpp"

namespace weft::run {

__extension__ using UInt128 = unsigned __int128;

inline constexpr int kDigitBits = 44;
/// Digits of a sum of products of doubles: from 2^-2148, the least product, to above 2^2048.
inline constexpr int kDigitsMax = 96;
/// Exponent of the least double. Positions of values are relative to it.
inline constexpr int kLeastExponent = -1074;

/// A finite double: (negative ? -1 : 1) * mantissa * 2^(kLeastExponent + position).
struct FiniteValue {
    std::uint64_t mantissa;
    int position;
    bool negative;
};

inline constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kMantissaMask = (std::uint64_t{1} << 52) - 1;
inline constexpr std::uint64_t kInfinityBits = std::uint64_t{0x7ff} << 52;
/// The NaN of all results: positive and quiet, without payload.
inline constexpr std::uint64_t kQuietNan = std::uint64_t{0x7ff8} << 48;

[[nodiscard]] constexpr std::uint64_t bits_of(double value) {
    return std::bit_cast<std::uint64_t>(value);
}
[[nodiscard]] constexpr double double_of(std::uint64_t bits) {
    return std::bit_cast<double>(bits);
}
[[nodiscard]] constexpr bool is_finite(std::uint64_t bits) {
    return (bits & kInfinityBits) != kInfinityBits;
}

/// Splits a value that is neither infinite nor NaN.
[[nodiscard]] inline FiniteValue split(std::uint64_t bits) {
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t implicit = std::uint64_t{exponent != 0} << 52;
    return {(bits & kMantissaMask) | implicit, exponent == 0 ? 0 : exponent - 1,
            (bits & kSignBit) != 0};
}

/// Adds a number of up to 84 bits times 2^position. Digit i is at digits[i * stride].
inline void add_number(std::int64_t* digits, std::size_t stride, UInt128 number, int position,
                       bool negative) {
    constexpr std::uint64_t kMask = (std::uint64_t{1} << kDigitBits) - 1;
    std::int64_t* digit = digits + static_cast<std::size_t>(position / kDigitBits) * stride;
    number <<= position % kDigitBits;
    for (; number != 0; number >>= kDigitBits, digit += stride) {
        const auto part = static_cast<std::int64_t>(static_cast<std::uint64_t>(number) & kMask);
        *digit += negative ? -part : part;
    }
}

/// Floating-point format of results.
struct FloatFormat {
    int precision;  ///< bits of the mantissa, including the implicit one
    int least;      ///< the least positive number is 2^least
    int limit;      ///< all finite numbers are below 2^limit
};
inline constexpr FloatFormat kDoubleFormat{53, -1074, 1024};
inline constexpr FloatFormat kFloatFormat{24, -149, 128};
inline constexpr FloatFormat kFloat16Format{11, -24, 16};
inline constexpr FloatFormat kBFloat16Format{8, -133, 128};

/// The leading bits of a number: (bits + (more ? part : 0)) * 2^exponent, where 0 < part < 1.
struct LeadingBits {
    UInt128 bits = 0;  ///< its top bit is set unless the number is 0
    int exponent = 0;
    bool negative = false;
    bool more = false;

    /// Returns the number, rounded to nearest, ties to even. The result is a number of `format` or
    /// an infinity.
    [[nodiscard]] double rounded(const FloatFormat& format) const;
    /// Returns the square root, rounded to a double. The root of a negative number is NaN.
    [[nodiscard]] double root() const;
};

/// Returns the leading bits of `count` digits. The weight of the first digit is 2^exponent.
[[nodiscard]] LeadingBits leading_bits(const std::int64_t* digits, std::size_t stride, int count,
                                       int exponent);

/// Moves carries, so that all digits but the last are in 0..2^44-1.
void move_carries(std::int64_t* digits, int count);

/// Calls body(T()) with the type of a floating-point element.
template <class Body>
auto with_type(Type type, Body body) {
    switch (type) {
        case Type::float32:
            return body(float());
        case Type::float16:
            return body(Float16());
        case Type::bfloat16:
            return body(BFloat16());
        default:
            return body(double());
    }
}

/// Converts `count` elements from index `first` to doubles. `from` may have any alignment.
inline void widen(Type type, const void* from, std::size_t first, std::size_t count, double* to) {
    with_type(type, [&](auto sample) {
        using T = decltype(sample);
        const std::byte* at = static_cast<const std::byte*>(from) + first * sizeof(T);
        if constexpr (std::is_same_v<T, double>) {
            std::memcpy(to, at, count * sizeof *to);
        } else {
            for (std::size_t i = 0; i < count; ++i, at += sizeof(T)) {
                std::memcpy(&sample, at, sizeof sample);
                to[i] = static_cast<float>(sample);
            }
        }
    });
}

/// Infinities, NaNs and zeros among the values of a sum.
struct Specials {
    bool positive = false;  ///< there is +infinity or a NaN
    bool negative = false;  ///< there is -infinity or a NaN
    bool other = false;     ///< there is a value other than -0.0

    [[nodiscard]] bool infinite() const { return positive || negative; }
    [[nodiscard]] double infinity() const {
        if (positive && negative) return double_of(kQuietNan);
        return double_of(kInfinityBits | (negative ? kSignBit : 0));
    }
    void add(std::uint64_t bits) {
        other = other || bits != kSignBit;
        if (is_finite(bits)) return;
        const bool nan = (bits & kMantissaMask) != 0;
        positive = positive || nan || (bits & kSignBit) == 0;
        negative = negative || nan || (bits & kSignBit) != 0;
    }
};

}  // namespace weft::run
