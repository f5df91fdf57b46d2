// SPDX-License-Identifier: BSD-3-Clause
// elements.hpp - maps C++ types to weft::Type, and defines element types that C++ lacks.
//
// The 16-bit floats hold only bits. They convert to float exactly; a float converts to them by
// rounding to nearest, ties to even. ValueIndex has the layout of MPI's pair types.
#pragma once

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "weft/types.hpp"

namespace weft {

/// The upper half of a float.
struct BFloat16 {
    std::uint16_t bits = 0;

    constexpr BFloat16() = default;
    explicit constexpr BFloat16(float value) {
        const auto word = std::bit_cast<std::uint32_t>(value);
        const bool is_nan = (word & 0x7fff'ffffU) > 0x7f80'0000U;
        // A NaN becomes quiet: its upper half alone could be the bits of an infinity.
        bits = static_cast<std::uint16_t>(is_nan ? word >> 16 | 0x40U
                                                 : (word + 0x7fffU + (word >> 16 & 1U)) >> 16);
    }
    explicit constexpr operator float() const {
        return std::bit_cast<float>(std::uint32_t{bits} << 16);
    }
};

/// The format binary16 of IEEE 754.
struct Float16 {
    std::uint16_t bits = 0;

    constexpr Float16() = default;
    explicit constexpr Float16(float value) {
        const auto word = std::bit_cast<std::uint32_t>(value);
        const auto sign = word >> 16 & 0x8000U;
        const float magnitude = std::bit_cast<float>(word & 0x7fff'ffffU);
        bits = static_cast<std::uint16_t>(sign | magnitude_bits(magnitude));
    }
    explicit constexpr operator float() const {
        const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
        const std::uint32_t exponent = bits >> 10 & 0x1fU;
        const std::uint32_t fraction = bits & 0x3ffU;
        if (exponent == 0) return sign * static_cast<float>(fraction) * 0x1p-24F;
        const std::uint32_t float_exponent = exponent == 0x1fU ? 0xffU : exponent + kBiasGap;
        return sign * std::bit_cast<float>(float_exponent << 23 | fraction << 13);
    }

  private:
    static constexpr std::uint32_t kBiasGap = 127 - 15;  ///< exponent bias of float minus binary16

    static constexpr std::uint32_t magnitude_bits(float magnitude) {
        if (magnitude != magnitude) return 0x7e00U;  // NaN
        if (magnitude >= 65520.0F) return 0x7c00U;   // rounds to infinity
        // A subnormal: adding 0.5 aligns the last bit with the last bit of the result, and rounds.
        if (magnitude < 0x1p-14F) return std::bit_cast<std::uint32_t>(magnitude + 0.5F) & 0x7ffU;
        const auto word = std::bit_cast<std::uint32_t>(magnitude) - (kBiasGap << 23);
        return (word + 0xfffU + (word >> 13 & 1U)) >> 13;
    }
};

/// An element of minloc and maxloc.
template <class Value, class Index = int>
struct ValueIndex {
    Value value{};
    Index index{};
    friend constexpr bool operator==(const ValueIndex&, const ValueIndex&) = default;
};

namespace detail {

template <class T>
struct TypeOf {
    static constexpr Type kType = Type::user;
};
template <std::integral T>
requires(sizeof(T) <= 8) struct TypeOf<T> {
    static constexpr bool kSigned = std::is_signed_v<T>;
    static constexpr Type kType = sizeof(T) == 1   ? (kSigned ? Type::int8 : Type::uint8)
                                  : sizeof(T) == 2 ? (kSigned ? Type::int16 : Type::uint16)
                                  : sizeof(T) == 4 ? (kSigned ? Type::int32 : Type::uint32)
                                                   : (kSigned ? Type::int64 : Type::uint64);
};
template <Type type>
struct IsType {
    static constexpr Type kType = type;
};
// clang-format off
template <> struct TypeOf<bool> : IsType<Type::boolean> {};
template <> struct TypeOf<float> : IsType<Type::float32> {};
template <> struct TypeOf<double> : IsType<Type::float64> {};
template <> struct TypeOf<long double> : IsType<Type::longdouble> {};
template <> struct TypeOf<std::complex<float>> : IsType<Type::cfloat> {};
template <> struct TypeOf<std::complex<double>> : IsType<Type::cdouble> {};
template <> struct TypeOf<Float16> : IsType<Type::float16> {};
template <> struct TypeOf<BFloat16> : IsType<Type::bfloat16> {};
template <> struct TypeOf<ValueIndex<float>> : IsType<Type::float_int> {};
template <> struct TypeOf<ValueIndex<double>> : IsType<Type::double_int> {};
template <> struct TypeOf<ValueIndex<std::int16_t>> : IsType<Type::int16_int> {};
template <> struct TypeOf<ValueIndex<std::int32_t>> : IsType<Type::int32_int> {};
template <> struct TypeOf<ValueIndex<std::int64_t>> : IsType<Type::int64_int> {};
template <> struct TypeOf<ValueIndex<long double>> : IsType<Type::longdouble_int> {};
template <> struct TypeOf<ValueIndex<double, std::int64_t>> : IsType<Type::double_int64> {};
template <> struct TypeOf<ValueIndex<std::int64_t, std::int64_t>> : IsType<Type::int64_int64> {};
// clang-format on

}  // namespace detail

/// C++ types that have an element type.
template <class T>
concept Element = detail::TypeOf<T>::kType != Type::user;

/// Returns the element type of a C++ type.
template <class T>
[[nodiscard]] constexpr Type type_of() {
    static_assert(
        Element<T>,
        "T must be an integer of up to 8 bytes, bool, a floating-point type, std::complex "
        "of float or double, Float16, BFloat16, or a ValueIndex that Type names");
    return detail::TypeOf<T>::kType;
}

}  // namespace weft
