// SPDX-License-Identifier: BSD-3-Clause
// kernel_elements.hpp - element types of reductions that are not arithmetic types of C++.
//
// Idea     A 16-bit float is stored as its bits. Operations widen it to a float, and round to
//          nearest, ties to even. Conversions have no branches, so they are vectorised.
// Holds    NaN results of 16 bits are the positive quiet NaN without payload. Padding bytes are 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace weft::run {
namespace {  // one copy per instruction set: see kernels.cpp

template <class T>
struct Complex {
    T real;
    T imaginary;
};

/// IEEE 754 binary16.
struct Binary16 {
    static constexpr std::uint16_t kInfinity = 0x7c00;
    static constexpr std::uint16_t kQuietNan = 0x7e00;
    static constexpr std::uint16_t kOne = 0x3c00;
    std::uint16_t bits;
};

/// bfloat16: the upper half of a binary32.
struct Brain16 {
    static constexpr std::uint16_t kInfinity = 0x7f80;
    static constexpr std::uint16_t kQuietNan = 0x7fc0;
    static constexpr std::uint16_t kOne = 0x3f80;
    std::uint16_t bits;
};

template <class T>
concept Float16Bits = std::is_same_v<T, Binary16> || std::is_same_v<T, Brain16>;

template <class V, class I>
struct Pair {
    using Value = V;
    using Index = I;
    V value;
    I index;
};

template <class T>
concept ValueAndIndex = requires {
    typename T::Index;
};

// --- 16-bit floats -------------------------------------------------------------------------------

constexpr std::uint32_t kFloatInfinity = 0x7f80'0000;
constexpr std::uint32_t kMagnitude16 = 0x7fff;
constexpr std::uint32_t kSign16 = 0x8000;

inline float float_of(std::uint32_t word) noexcept {
    return __builtin_bit_cast(float, word);
}
inline std::uint32_t word_of(float value) noexcept {
    return __builtin_bit_cast(std::uint32_t, value);
}

inline float widen(Brain16 value) noexcept {
    return float_of(std::uint32_t{value.bits} << 16);
}

/// Widens a binary16. In a float, the exponent is 13 bits higher, and its bias is greater by 112. A
/// subnormal is given an implicit leading 1, which the subtraction removes exactly.
inline float widen(Binary16 value) noexcept {
    constexpr std::uint32_t kRebias = 112U << 23;
    constexpr std::uint32_t kLeastNormal = 113U << 23;
    const std::uint32_t placed = (value.bits & kMagnitude16) << 13;
    const std::uint32_t exponent = placed & (0x1fU << 23);
    const std::uint32_t normal = placed + kRebias;
    const std::uint32_t top = placed + 2 * kRebias;  // infinities and NaNs
    const std::uint32_t subnormal =
        word_of(float_of(placed + kLeastNormal) - float_of(kLeastNormal));
    const std::uint32_t finite = exponent == 0 ? subnormal : normal;
    const std::uint32_t magnitude = exponent == 0x1fU << 23 ? top : finite;
    return float_of(magnitude | (value.bits & kSign16) << 16);
}

template <class T>
T narrow(float value) noexcept;

/// Adds half a unit of the last place kept, or slightly less if even. May carry to the exponent.
template <>
inline Brain16 narrow<Brain16>(float value) noexcept {
    const std::uint32_t word = word_of(value);
    const std::uint32_t rounded = (word + 0x7fff + (word >> 16 & 1)) >> 16;
    const bool nan = (word & 0x7fff'ffff) > kFloatInfinity;
    return {static_cast<std::uint16_t>(nan ? Brain16::kQuietNan : rounded)};
}

/// Rounds like narrow<Brain16>(), but removes 13 places. Subnormal results are added to 0.5, whose
/// last place equals theirs, so the addition rounds.
template <>
inline Binary16 narrow<Binary16>(float value) noexcept {
    constexpr std::uint32_t kLeastNormal = 113U << 23;
    constexpr std::uint32_t kTooLarge = 143U << 23;  // 65536
    constexpr std::uint32_t kHalf = 126U << 23;
    const std::uint32_t word = word_of(value);
    const std::uint32_t magnitude = word & 0x7fff'ffff;
    const std::uint32_t normal = (magnitude - (112U << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    const std::uint32_t subnormal = word_of(float_of(magnitude) + float_of(kHalf)) - kHalf;
    const std::uint32_t finite = magnitude < kLeastNormal ? subnormal : normal;
    const std::uint32_t kept = magnitude >= kTooLarge ? Binary16::kInfinity : finite;
    const std::uint32_t number = kept | (word >> 16 & kSign16);
    const bool nan = magnitude > kFloatInfinity;
    return {static_cast<std::uint16_t>(nan ? Binary16::kQuietNan : number)};
}

template <Float16Bits T>
bool is_nan(T value) noexcept {
    return (value.bits & kMagnitude16) > T::kInfinity;
}

/// Returns an integer; integers have the order of the values, with -0.0 before +0.0. Not for NaNs.
template <Float16Bits T>
std::int16_t order_of(T value) noexcept {
    const auto number = static_cast<std::int16_t>(value.bits);
    return static_cast<std::int16_t>(number ^ (number >> 15 & 0x7fff));
}

// --- memory --------------------------------------------------------------------------------------

/// Bytes of an element without padding. An x87 number has 80 bits.
template <class T>
constexpr std::size_t kValueBytes = sizeof(T);
template <>
inline constexpr std::size_t kValueBytes<long double> = __LDBL_MANT_DIG__ == 64
                                                            ? 10
                                                            : sizeof(long double);

template <class T>
T load(const unsigned char* from) noexcept {
    T value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
void store(unsigned char* to, const T& value) noexcept {
    if constexpr (ValueAndIndex<T> || kValueBytes<T> != sizeof(T)) {
        unsigned char bytes[sizeof(T)] = {};
        if constexpr (ValueAndIndex<T>) {
            __builtin_memcpy(bytes, &value.value, kValueBytes<typename T::Value>);
            __builtin_memcpy(bytes + offsetof(T, index), &value.index, sizeof value.index);
        } else {
            __builtin_memcpy(bytes, &value, kValueBytes<T>);
        }
        __builtin_memcpy(to, bytes, sizeof bytes);
    } else {
        __builtin_memcpy(to, &value, sizeof value);
    }
}

}  // namespace
}  // namespace weft::run
