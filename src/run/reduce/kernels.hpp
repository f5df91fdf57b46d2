// SPDX-License-Identifier: BSD-3-Clause
// kernels.hpp - the reduction loops, written once and compiled once for each instruction set.
//
// Idea     One loop over operations on single elements; the compiler vectorises it. Each kernels_*.cpp
//          includes this file and is compiled with its own -march (CMakeLists.txt of this folder).
// Why      Everything sits in an unnamed namespace and nothing of the library is called, so that no
//          function compiled for a newer processor can be linked into code for an older one.
// Holds    Integers wrap. Floating-point sums and products are single IEEE operations in the order
//          left, right. min and max of floating point give the same bits on every instruction set
//          and for either order of the operands: any NaN gives the positive quiet NaN without
//          payload, and -0.0 is less than +0.0. Logical operations read x != 0 (a NaN is true).
//          If both operands of a sum or product are NaN, the result is a NaN whose payload is the
//          processor's choice.
// Next     kernel_table.hpp for the table; reduce.cpp for many operands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "run/reduce/kernel_table.hpp"

namespace weft::run {
namespace {  // one copy per instruction set: see above

/// Unsigned integers wide enough that arithmetic on them is not promoted to int.
template <class T>
using Wrapping = std::common_type_t<unsigned, std::make_unsigned_t<T>>;

struct Sum {
    template <class T>
    static T apply(T left, T right) noexcept {
        if constexpr (std::is_floating_point_v<T>) {
            return left + right;
        } else {
            using W = Wrapping<T>;
            return static_cast<T>(static_cast<W>(left) + static_cast<W>(right));
        }
    }
};

struct Prod {
    template <class T>
    static T apply(T left, T right) noexcept {
        if constexpr (std::is_floating_point_v<T>) {
            return left * right;
        } else {
            using W = Wrapping<T>;
            return static_cast<T>(static_cast<W>(left) * static_cast<W>(right));
        }
    }
};

template <class T>
struct FloatBits;
template <>
struct FloatBits<float> {
    using Word = std::uint32_t;
    static constexpr Word kQuietNan = 0x7fc0'0000;
};
template <>
struct FloatBits<double> {
    using Word = std::uint64_t;
    static constexpr Word kQuietNan = 0x7ff8'0000'0000'0000;
};

// Equal operands differ at most in the sign of a zero, so OR gives the lesser and AND the greater.
// All comparisons are made, and values are selected by masks: no branch hinders vectorisation.
template <bool kMinimum, class T>
T float_extreme(T left, T right) noexcept {
    using Word = typename FloatBits<T>::Word;
    const Word left_word = __builtin_bit_cast(Word, left);
    const Word right_word = __builtin_bit_cast(Word, right);
    const Word equal_word = kMinimum ? left_word | right_word : left_word & right_word;
    const bool take_left = kMinimum ? left < right : left > right;
    const T other = left == right ? __builtin_bit_cast(T, equal_word) : right;
    const T ordered = take_left ? left : other;
    return __builtin_isunordered(left, right) ? __builtin_bit_cast(T, FloatBits<T>::kQuietNan)
                                              : ordered;
}

struct Min {
    template <class T>
    static T apply(T left, T right) noexcept {
        if constexpr (std::is_floating_point_v<T>)
            return float_extreme<true>(left, right);
        else
            return right < left ? right : left;
    }
};

struct Max {
    template <class T>
    static T apply(T left, T right) noexcept {
        if constexpr (std::is_floating_point_v<T>)
            return float_extreme<false>(left, right);
        else
            return left < right ? right : left;
    }
};

struct LogicalAnd {
    template <class T>
    static T apply(T left, T right) noexcept {
        return ((left != T{0}) & (right != T{0})) ? T{1} : T{0};
    }
};

struct LogicalOr {
    template <class T>
    static T apply(T left, T right) noexcept {
        return ((left != T{0}) | (right != T{0})) ? T{1} : T{0};
    }
};

struct LogicalXor {
    template <class T>
    static T apply(T left, T right) noexcept {
        return ((left != T{0}) != (right != T{0})) ? T{1} : T{0};
    }
};

struct BitAnd {
    template <class T>
    requires std::is_integral_v<T>
    static T apply(T left, T right) noexcept { return static_cast<T>(left & right); }
};

struct BitOr {
    template <class T>
    requires std::is_integral_v<T>
    static T apply(T left, T right) noexcept { return static_cast<T>(left | right); }
};

struct BitXor {
    template <class T>
    requires std::is_integral_v<T>
    static T apply(T left, T right) noexcept { return static_cast<T>(left ^ right); }
};

template <class T>
T load(const unsigned char* from) noexcept {
    T value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
}

template <class T, class Operation>
void reduce(void* target, const void* left, const void* right, std::size_t count) noexcept {
    auto* const to = static_cast<unsigned char*>(target);
    const auto* const from_left = static_cast<const unsigned char*>(left);
    const auto* const from_right = static_cast<const unsigned char*>(right);
    // Buffers are equal or apart, so no iteration reads what another one wrote.
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = i * sizeof(T);
        const T result = Operation::apply(load<T>(from_left + at), load<T>(from_right + at));
        __builtin_memcpy(to + at, &result, sizeof result);
    }
}

/// Signed and unsigned integers share kernels except where order matters.
template <class T, class Operation>
constexpr ReduceFn kernel() noexcept {
    constexpr bool kOrdered = std::is_same_v<Operation, Min> || std::is_same_v<Operation, Max>;
    if constexpr (!requires(T x) { Operation::apply(x, x); })
        return nullptr;
    else if constexpr (std::is_integral_v<T> && !kOrdered)
        return &reduce<std::make_unsigned_t<T>, Operation>;
    else
        return &reduce<T, Operation>;
}

template <class T>
constexpr KernelRow row() noexcept {
    return {{kernel<T, Sum>(), kernel<T, Prod>(), kernel<T, Min>(), kernel<T, Max>(),
             kernel<T, LogicalAnd>(), kernel<T, LogicalOr>(), kernel<T, LogicalXor>(),
             kernel<T, BitAnd>(), kernel<T, BitOr>(), kernel<T, BitXor>()}};
}
static_assert(static_cast<int>(Op::sum) == 0 && static_cast<int>(Op::prod) == 1 &&
              static_cast<int>(Op::min) == 2 && static_cast<int>(Op::max) == 3 &&
              static_cast<int>(Op::land) == 4 && static_cast<int>(Op::lor) == 5 &&
              static_cast<int>(Op::lxor) == 6 && static_cast<int>(Op::band) == 7 &&
              static_cast<int>(Op::bor) == 8 && static_cast<int>(Op::bxor) == 9);
static_assert(row<float>().operations[static_cast<int>(Op::band)] == nullptr);

constexpr KernelTable make_table(const char* name) noexcept {
    return {name,
            {row<std::int8_t>(), row<std::int16_t>(), row<std::int32_t>(), row<std::int64_t>(),
             row<std::uint8_t>(), row<std::uint16_t>(), row<std::uint32_t>(), row<std::uint64_t>(),
             row<float>(), row<double>()}};
}
static_assert(static_cast<int>(Type::int8) == 0 && static_cast<int>(Type::int64) == 3 &&
              static_cast<int>(Type::uint8) == 4 && static_cast<int>(Type::uint64) == 7 &&
              static_cast<int>(Type::float32) == 8 && static_cast<int>(Type::float64) == 9);

}  // namespace
}  // namespace weft::run
