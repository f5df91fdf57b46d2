// SPDX-License-Identifier: BSD-3-Clause
// kernels.hpp - reduction loops, compiled for each instruction set from this single source.
//
// Idea     A single loop template applies an operation to elements, and the compiler vectorises it.
//          Each kernels_*.cpp includes this file and is compiled with a different -march.
// Why      All code is in an unnamed namespace and calls no library function. So code for older
//          processors cannot be linked to a function that was compiled for newer processors.
// Holds    docs/decisions/0008-elements-and-operations.md defines the bits of results. Integers
//          wrap. A floating-point sum or product is a single IEEE operation with the operands in
//          the order left, right. Logical operations treat x != 0 as true, so a NaN is true. If
//          both operands are NaN, the processor chooses the payload, except for 16 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "run/reduce/exact_kernels.hpp"
#include "run/reduce/kernel_elements.hpp"
#include "run/reduce/kernel_passes.hpp"
#include "run/reduce/kernel_table.hpp"

#if defined(__F16C__) && defined(__AVX2__)
#include "run/reduce/kernels_avx2.hpp"
#define WEFT_HAS_AVX2_KERNELS 1
#endif

namespace weft::run {
namespace {  // one copy per instruction set: see above

/// Unsigned type that is not promoted to int, whose overflow would be undefined.
template <class T>
using Wrapping = std::common_type_t<unsigned, std::make_unsigned_t<T>>;

struct Plus {
    static constexpr auto combine = [](auto left, auto right) { return left + right; };
};
struct Times {
    static constexpr auto combine = [](auto left, auto right) { return left * right; };
};

template <class Operation>
struct Arithmetic {
    template <class T>
    requires std::is_arithmetic_v<T>
    static T apply(T left, T right) noexcept {
        if constexpr (std::is_floating_point_v<T>) {
            return Operation::combine(left, right);
        } else {
            using W = Wrapping<T>;
            return static_cast<T>(Operation::combine(static_cast<W>(left), static_cast<W>(right)));
        }
    }
    template <Float16Bits T>
    static T apply(T left, T right) noexcept {
        return narrow<T>(Operation::combine(widen(left), widen(right)));
    }
};

struct Sum : Arithmetic<Plus> {
    using Arithmetic<Plus>::apply;
    template <class T>
    static Complex<T> apply(Complex<T> left, Complex<T> right) noexcept {
        return {left.real + right.real, left.imaginary + right.imaginary};
    }
};

struct Prod : Arithmetic<Times> {
    using Arithmetic<Times>::apply;
    template <class T>
    static Complex<T> apply(Complex<T> left, Complex<T> right) noexcept {
        return {left.real * right.real - left.imaginary * right.imaginary,
                left.real * right.imaginary + left.imaginary * right.real};
    }
};

// Equal operands differ at most in the sign of a zero: "or" of their bits gives -0.0, the minimum,
// and "and" gives +0.0. No comparison branches, so the compiler can vectorise the loop.
template <bool kMinimum, class T>
T float_extreme(T left, T right) noexcept {
    using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const Word left_word = __builtin_bit_cast(Word, left);
    const Word right_word = __builtin_bit_cast(Word, right);
    const Word equal_word = kMinimum ? left_word | right_word : left_word & right_word;
    const bool take_left = kMinimum ? left < right : left > right;
    const T other = left == right ? __builtin_bit_cast(T, equal_word) : right;
    const T ordered = take_left ? left : other;
    return __builtin_isunordered(left, right) ? static_cast<T>(__builtin_nanf("")) : ordered;
}

/// Compares with branches: the padding of a long double prevents operations on its bits.
template <bool kMinimum>
long double float_extreme(long double left, long double right) noexcept {
    if (__builtin_isunordered(left, right)) return __builtin_nanl("");
    if (left == right) return (__builtin_signbit(left) != 0) == kMinimum ? left : right;
    return (left < right) == kMinimum ? left : right;
}

template <bool kMinimum, Float16Bits T>
T float_extreme(T left, T right) noexcept {
    const bool right_is_less = order_of(right) < order_of(left);
    const std::uint16_t ordered = right_is_less == kMinimum ? right.bits : left.bits;
    return {(is_nan(left) | is_nan(right)) ? T::kQuietNan : ordered};
}

template <bool kMinimum>
struct Extreme {
    template <class T>
    requires(std::is_arithmetic_v<T> || Float16Bits<T>) static T apply(T left, T right) noexcept {
        if constexpr (!std::is_integral_v<T>)
            return float_extreme<kMinimum>(left, right);
        else
            return (kMinimum ? right < left : left < right) ? right : left;
    }
};

/// Returns true if `value` is preferred to `other`. -0.0 is less than +0.0.
template <bool kMinimum, class T>
bool comes_before(T value, T other) noexcept {
    const bool before = kMinimum ? value < other : value > other;
    if constexpr (std::is_integral_v<T>) {
        return before;
    } else {
        const T negative = kMinimum ? value : other;
        const T positive = kMinimum ? other : value;
        return before | ((value == other) & (__builtin_signbit(negative) != 0) &
                         (__builtin_signbit(positive) == 0));
    }
}

template <bool kMinimum>
struct LocatedExtreme {
    template <ValueAndIndex T>
    static T apply(const T& left, const T& right) noexcept {
        using V = typename T::Value;
        const bool left_nan = left.value != left.value;
        const bool right_nan = right.value != right.value;
        const bool left_first = comes_before<kMinimum>(left.value, right.value) | left_nan;
        const bool right_first = comes_before<kMinimum>(right.value, left.value) | right_nan;
        // Neither value is first, or both are (two NaNs): the values count as equal.
        const bool take_left = left_first != right_first ? left_first : left.index <= right.index;
        T result = take_left ? left : right;
        if constexpr (std::is_floating_point_v<V>)
            if (left_nan | right_nan) result.value = static_cast<V>(__builtin_nanf(""));
        return result;
    }
};

template <class T>
concept HasTruth = std::is_arithmetic_v<T> || Float16Bits<T>;

template <HasTruth T>
bool truth_of(T value) noexcept {
    if constexpr (Float16Bits<T>)
        return (value.bits & kMagnitude16) != 0;
    else
        return value != T{0};
}

template <HasTruth T>
T as_element(bool truth) noexcept {
    if constexpr (Float16Bits<T>)
        return {truth ? T::kOne : std::uint16_t{0}};
    else
        return truth ? T{1} : T{0};
}

struct And {
    static constexpr auto combine = [](auto left, auto right) { return left & right; };
};
struct Or {
    static constexpr auto combine = [](auto left, auto right) { return left | right; };
};
struct Xor {
    static constexpr auto combine = [](auto left, auto right) { return left ^ right; };
};

template <class Operation>
struct Logical {
    template <HasTruth T>
    static T apply(T left, T right) noexcept {
        return as_element<T>(Operation::combine(truth_of(left), truth_of(right)));
    }
};

template <class Operation>
struct Bitwise {
    template <class T>
    requires std::is_integral_v<T>
    static T apply(T left, T right) noexcept {
        return static_cast<T>(Operation::combine(left, right));
    }
};

template <class T, class Operation>
void reduce(void* target, const void* left, const void* right, std::size_t count) noexcept {
    auto* const to = static_cast<unsigned char*>(target);
    const auto* const from_left = static_cast<const unsigned char*>(left);
    const auto* const from_right = static_cast<const unsigned char*>(right);
#if defined(WEFT_HAS_AVX2_KERNELS)
    if constexpr (requires { Wide<T, Operation>::combine; })
        return reduce_wide<Wide<T, Operation>>(to, from_left, from_right, count * sizeof(T));
#endif
    const auto combine = [&](std::size_t at) {
        store<T>(to + at, Operation::apply(load<T>(from_left + at), load<T>(from_right + at)));
    };
    if (count == 1) return combine(0);  // avoids the setup of the vectorised loop
        // Buffers are equal or disjoint, so no iteration reads the result of another iteration.
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (std::size_t i = 0; i < count; ++i) combine(i * sizeof(T));
}

/// Returns the kernel, or nullptr. Signed and unsigned integers share one unless order matters.
template <class T, class Operation>
constexpr ReduceFn kernel() noexcept {
    constexpr bool kOrdered =
        std::is_same_v<Operation, Extreme<true>> || std::is_same_v<Operation, Extreme<false>>;
    if constexpr (!requires(T x) { Operation::apply(x, x); })
        return nullptr;
    else if constexpr (std::is_integral_v<T> && !kOrdered)
        return &reduce<std::make_unsigned_t<T>, Operation>;
    else
        return &reduce<T, Operation>;
}

template <class T>
constexpr KernelRow row() noexcept {
    return {{kernel<T, Sum>(), kernel<T, Prod>(), kernel<T, Extreme<true>>(),
             kernel<T, Extreme<false>>(), kernel<T, Logical<And>>(), kernel<T, Logical<Or>>(),
             kernel<T, Logical<Xor>>(), kernel<T, Bitwise<And>>(), kernel<T, Bitwise<Or>>(),
             kernel<T, Bitwise<Xor>>(), kernel<T, LocatedExtreme<true>>(),
             kernel<T, LocatedExtreme<false>>()},
            sum_pass_of<T>()};
}
static_assert(static_cast<int>(Op::sum) == 0 && static_cast<int>(Op::prod) == 1 &&
              static_cast<int>(Op::min) == 2 && static_cast<int>(Op::max) == 3 &&
              static_cast<int>(Op::land) == 4 && static_cast<int>(Op::lor) == 5 &&
              static_cast<int>(Op::lxor) == 6 && static_cast<int>(Op::band) == 7 &&
              static_cast<int>(Op::bor) == 8 && static_cast<int>(Op::bxor) == 9 &&
              static_cast<int>(Op::minloc) == 10 && static_cast<int>(Op::maxloc) == 11);
static_assert(row<float>().operations[static_cast<int>(Op::band)] == nullptr);
static_assert(row<Complex<float>>().operations[static_cast<int>(Op::min)] == nullptr);
static_assert(row<Pair<float, int>>().operations[static_cast<int>(Op::sum)] == nullptr);

/// Returns the kernels of bool, a byte. Bitwise operations are logical: any byte but 0 is true.
constexpr KernelRow bool_row() noexcept {
    using Byte = std::uint8_t;
    constexpr ReduceFn kAnd = kernel<Byte, Logical<And>>();
    constexpr ReduceFn kOr = kernel<Byte, Logical<Or>>();
    constexpr ReduceFn kXor = kernel<Byte, Logical<Xor>>();
    return {
        {nullptr, nullptr, nullptr, nullptr, kAnd, kOr, kXor, kAnd, kOr, kXor, nullptr, nullptr},
        nullptr};
}
static_assert(sizeof(bool) == 1);

constexpr void set(KernelTable& table, Type type, const KernelRow& filled) noexcept {
    table.types[static_cast<int>(type)] = filled;
}

/// Returns a table of the types whose loops the compiler can vectorise.
constexpr KernelTable make_table(const char* name) noexcept {
    KernelTable table{name, {}, sum_pass_of<std::uint64_t>(), exact_kernels()};
    set(table, Type::int8, row<std::int8_t>());
    set(table, Type::int16, row<std::int16_t>());
    set(table, Type::int32, row<std::int32_t>());
    set(table, Type::int64, row<std::int64_t>());
    set(table, Type::uint8, row<std::uint8_t>());
    set(table, Type::uint16, row<std::uint16_t>());
    set(table, Type::uint32, row<std::uint32_t>());
    set(table, Type::uint64, row<std::uint64_t>());
    set(table, Type::float32, row<float>());
    set(table, Type::float64, row<double>());
    set(table, Type::cfloat, row<Complex<float>>());
    set(table, Type::cdouble, row<Complex<double>>());
    set(table, Type::boolean, bool_row());
    set(table, Type::float16, row<Binary16>());
    set(table, Type::bfloat16, row<Brain16>());
    return table;
}

/// Returns a table of the other types: long double and pairs.
constexpr KernelTable make_scalar_table(const char* name) noexcept {
    KernelTable table{name, {}, nullptr, {}};
    set(table, Type::longdouble, row<long double>());
    set(table, Type::float_int, row<Pair<float, int>>());
    set(table, Type::double_int, row<Pair<double, int>>());
    set(table, Type::int16_int, row<Pair<std::int16_t, int>>());
    set(table, Type::int32_int, row<Pair<std::int32_t, int>>());
    set(table, Type::int64_int, row<Pair<std::int64_t, int>>());
    set(table, Type::longdouble_int, row<Pair<long double, int>>());
    set(table, Type::double_int64, row<Pair<double, std::int64_t>>());
    set(table, Type::int64_int64, row<Pair<std::int64_t, std::int64_t>>());
    return table;
}

}  // namespace
}  // namespace weft::run
