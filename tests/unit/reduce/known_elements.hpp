// SPDX-License-Identifier: BSD-3-Clause
// known_elements.hpp - references for tests of the kernels: random elements of each type, results
// of operations, and the bytes of elements, with zeros as padding.
//
// Holds    References share no code with the kernels: integers in twice their width, floats by
//          cases, 16-bit floats by scaled rounding in double, complex numbers by their parts.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/element_types.hpp"
#include "run/reduce/reduce.hpp"
#include "weft/elements.hpp"

namespace weft::run {

/// Values at which operations are likely to fail.
template <class F>
const std::vector<F>& special_values() {
    using Limits = std::numeric_limits<F>;
    static const std::vector<F> values = [] {
        std::vector<F> list{2, Limits::min(), Limits::max(), Limits::lowest()};
        for (const F value :
             {F{0}, F{1}, Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min()})
            list.insert(list.end(), {value, -value});
        return list;
    }();
    return values;
}

template <class F>
F draw_float(std::mt19937_64& random) {
    if (random() % 4 == 0) return special_values<F>()[random() % special_values<F>().size()];
    return std::ldexp(static_cast<F>(random()) - F{0x1p63}, static_cast<int>(random() % 80) - 100);
}

/// Returns min or max of two floating-point values, by cases.
template <class F>
F extreme(Op op, F a, F b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<F>::quiet_NaN();
    if (a == b) return std::signbit(a) == (op == Op::min) ? a : b;
    return (a < b) == (op == Op::min) ? a : b;
}

/// Returns the result of a logical or bitwise operation on truth values.
inline bool truth(Op op, bool a, bool b) {
    if (op == Op::land || op == Op::band) return a && b;
    if (op == Op::lor || op == Op::bor) return a || b;
    return a != b;
}

/// Reference functions of a type: draw() a random element, combine() two elements, write() an
/// element's bytes without padding. any_nan(): the operation may return any NaN instead of this
/// result. is_nan(): the element is a NaN.
template <class T>
struct Known;

template <std::integral I>
struct Known<I> {
    static I draw(std::mt19937_64& random) {
        using Limits = std::numeric_limits<I>;
        constexpr I kSpecial[] = {
            0, 1, 2, Limits::min(), Limits::max(), static_cast<I>(-1), Limits::max() - 1};
        return random() % 4 == 0 ? kSpecial[random() % std::size(kSpecial)]
                                 : static_cast<I>(random());
    }
    /// Combines in twice the width, so that nothing overflows.
    static I combine(Op op, I left, I right) {
        const auto a = static_cast<__int128>(left);
        const auto b = static_cast<__int128>(right);
        if (op == Op::sum) return static_cast<I>(a + b);
        if (op == Op::prod)
            return static_cast<I>(static_cast<unsigned __int128>(a) *
                                  static_cast<unsigned __int128>(b));
        if (op == Op::min) return a <= b ? left : right;
        if (op == Op::max) return a >= b ? left : right;
        if (op == Op::band) return static_cast<I>(a & b);
        if (op == Op::bor) return static_cast<I>(a | b);
        if (op == Op::bxor) return static_cast<I>(a ^ b);
        return truth(op, left != 0, right != 0) ? I{1} : I{0};
    }
    static void write(I value, std::byte* to) { std::memcpy(to, &value, sizeof value); }
    static bool any_nan(Op, I) { return false; }
    static bool is_nan(I) { return false; }
};

template <std::floating_point F>
struct Known<F> {
    static F draw(std::mt19937_64& random) { return draw_float<F>(random); }
    static F combine(Op op, F left, F right) {
        const volatile F a = left;
        const volatile F b = right;
        if (op == Op::sum) return a + b;
        if (op == Op::prod) return a * b;
        if (op == Op::min || op == Op::max) return extreme(op, left, right);
        return truth(op, left != 0, right != 0) ? F{1} : F{0};
    }
    static void write(F value, std::byte* to) {  // a long double has 10 bytes, then padding
        std::memcpy(to, &value, std::numeric_limits<F>::digits == 64 ? 10 : sizeof value);
    }
    static bool any_nan(Op op, F value) {
        return (op == Op::sum || op == Op::prod) && std::isnan(value);
    }
    static bool is_nan(F value) { return std::isnan(value); }
};

template <class F>
struct Known<std::complex<F>> {
    using C = std::complex<F>;
    static C draw(std::mt19937_64& random) {
        return {draw_float<F>(random), draw_float<F>(random)};
    }
    static C combine(Op op, C left, C right) {
        if (op == Op::sum) return {left.real() + right.real(), left.imag() + right.imag()};
        const volatile F ac = left.real() * right.real();
        const volatile F bd = left.imag() * right.imag();
        const volatile F ad = left.real() * right.imag();
        const volatile F bc = left.imag() * right.real();
        return {ac - bd, ad + bc};
    }
    static void write(C value, std::byte* to) { std::memcpy(to, &value, sizeof value); }
    static bool any_nan(Op, C value) {
        return std::isnan(value.real()) || std::isnan(value.imag());
    }
    static bool is_nan(C value) { return any_nan(Op::sum, value); }
};

template <>
struct Known<bool> {
    static bool draw(std::mt19937_64& random) { return random() % 2 == 1; }
    static bool combine(Op op, bool a, bool b) { return truth(op, a, b); }
    static void write(bool value, std::byte* to) { std::memcpy(to, &value, 1); }
    static bool any_nan(Op, bool) { return false; }
    static bool is_nan(bool) { return false; }
};

/// A 16-bit float's number of fraction bits, exponent of the smallest normal element, and the power
/// of two above the largest element.
template <class T>
struct NarrowFormat;
template <>
struct NarrowFormat<Float16> {
    static constexpr int kFraction = 10;
    static constexpr int kExponentLeast = -14;
    static constexpr double kTooLarge = 65536;
};
template <>
struct NarrowFormat<BFloat16> {
    static constexpr int kFraction = 7;
    static constexpr int kExponentLeast = -126;
    static constexpr double kTooLarge = 0x1p128;
};

/// Returns the value of any of the 65,536 elements, computed from its parts.
template <class T>
double value_of(T element) {
    using P = NarrowFormat<T>;
    const int fraction = element.bits & ((1 << P::kFraction) - 1);
    const int exponent = (element.bits & 0x7fff) >> P::kFraction;
    const int exponents = 1 << (15 - P::kFraction);
    const double sign = (element.bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == exponents - 1)
        return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
    const int least = P::kExponentLeast - P::kFraction;
    if (exponent == 0) return sign * std::ldexp(fraction, least);
    return sign * std::ldexp(fraction + (1 << P::kFraction), least + exponent - 1);
}

/// Returns the nearest element, ties to even. A NaN gives the positive quiet NaN.
template <class T>
T nearest(double value) {
    using P = NarrowFormat<T>;
    constexpr int kInfinity = 0x7fff >> P::kFraction << P::kFraction;
    T element;
    if (std::isnan(value)) {
        element.bits = static_cast<std::uint16_t>(kInfinity | 1 << (P::kFraction - 1));
        return element;
    }
    int exponent = P::kExponentLeast;
    if (value != 0 && std::isfinite(value)) exponent = std::max(exponent, std::ilogb(value));
    const double units = std::nearbyint(std::ldexp(std::abs(value), P::kFraction - exponent));
    int bits = kInfinity;
    if (std::isfinite(value) && std::ldexp(units, exponent - P::kFraction) < P::kTooLarge)
        bits = static_cast<int>(units) + ((exponent - P::kExponentLeast) << P::kFraction);
    element.bits = static_cast<std::uint16_t>(bits | (std::signbit(value) ? 0x8000 : 0));
    return element;
}

template <class T>
struct KnownNarrow {
    static T draw(std::mt19937_64& random) {
        T element;
        element.bits = static_cast<std::uint16_t>(random());
        return element;
    }
    /// Combines in float, as documented, then rounds to 16 bits.
    static T combine(Op op, T left, T right) {
        const auto a = static_cast<float>(value_of(left));
        const auto b = static_cast<float>(value_of(right));
        if (op == Op::sum) return nearest<T>(a + b);
        if (op == Op::prod) return nearest<T>(a * b);
        if (op == Op::min || op == Op::max) return nearest<T>(extreme(op, a, b));
        return nearest<T>(truth(op, a != 0, b != 0) ? 1 : 0);
    }
    static void write(T value, std::byte* to) { std::memcpy(to, &value.bits, 2); }
    static bool any_nan(Op, T) { return false; }
    static bool is_nan(T value) { return std::isnan(value_of(value)); }
};
template <>
struct Known<Float16> : KnownNarrow<Float16> {};
template <>
struct Known<BFloat16> : KnownNarrow<BFloat16> {};

template <class V, class I>
struct Known<ValueIndex<V, I>> {
    using P = ValueIndex<V, I>;
    static P draw(std::mt19937_64& random) {
        P pair;
        pair.index = static_cast<I>(random() % 7) - 3;
        if constexpr (std::is_integral_v<V>)
            pair.value = static_cast<V>(random() % 5 - 2);
        else
            pair.value = random() % 2 == 0
                             ? special_values<V>()[random() % special_values<V>().size()]
                             : V{1};
        return pair;
    }
    static P combine(Op op, P a, P b) {
        P result;
        const I lower = std::min(a.index, b.index);
        if constexpr (std::is_integral_v<V>) {
            result.value =
                op == Op::minloc ? std::min(a.value, b.value) : std::max(a.value, b.value);
            result.index = a.value == b.value ? lower : result.value == a.value ? a.index : b.index;
        } else {
            result.value = extreme(op == Op::minloc ? Op::min : Op::max, a.value, b.value);
            const auto wins = [&](P pair) {
                if (std::isnan(result.value)) return std::isnan(pair.value);
                return pair.value == result.value &&
                       std::signbit(pair.value) == std::signbit(result.value);
            };
            result.index = wins(a) && wins(b) ? lower : wins(a) ? a.index : b.index;
        }
        return result;
    }
    static void write(P pair, std::byte* to) {
        if constexpr (std::is_same_v<V, long double>)
            Known<long double>::write(pair.value, to);
        else
            std::memcpy(to, &pair.value, sizeof pair.value);
        std::memcpy(to + offsetof(P, index), &pair.index, sizeof pair.index);
    }
    static bool any_nan(Op, P) { return false; }
    static bool is_nan(P) { return false; }
};

template <class T>
using Image = std::array<std::byte, sizeof(T)>;

template <class T>
Image<T> image_of(const T& value) {
    Image<T> image{};
    Known<T>::write(value, image.data());
    return image;
}

template <class T>
T read(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

/// Returns true if the bytes equal the expected element with zeros as padding, or are a NaN where
/// any NaN is allowed.
template <class T>
bool as_specified(Op op, const std::byte* found, const T& expected) {
    if (Known<T>::any_nan(op, expected)) return Known<T>::is_nan(read<T>(found));
    return std::memcmp(found, image_of(expected).data(), sizeof(T)) == 0;
}

inline constexpr std::size_t kGuard = 64;

/// A buffer of `count` elements at an offset of `shift` bytes, between guard bytes. All bytes,
/// padding included, are 0xa5 at first.
template <class T>
class Guarded {
  public:
    Guarded(std::size_t count, std::size_t shift)
        : at_(kGuard + shift),
          bytes_(count * sizeof(T)),
          memory_(bytes_ + 2 * kGuard + 32, std::byte{0xa5}) {}
    void set(const std::vector<T>& values) {
        for (std::size_t i = 0; i < values.size(); ++i)
            Known<T>::write(values[i], data() + i * sizeof(T));
    }
    [[nodiscard]] std::byte* data() { return memory_.data() + at_; }
    [[nodiscard]] bool guards_hold() const {
        for (std::size_t i = 0; i < memory_.size(); ++i)
            if ((i < at_ || i >= at_ + bytes_) && memory_[i] != std::byte{0xa5}) return false;
        return true;
    }

  private:
    std::size_t at_;
    std::size_t bytes_;
    std::vector<std::byte> memory_;
};

/// Checks one call. Bit 0 of `alias`: the target is the left operand; bit 1: the right operand.
template <class T>
void check_call(ReduceFn kernel, Op op, std::size_t count, std::array<std::size_t, 3> shifts,
                unsigned alias, std::mt19937_64& random) {
    std::vector<T> a(count);
    std::vector<T> b(count);
    for (std::size_t i = 0; i < count; ++i) a[i] = Known<T>::draw(random);
    for (std::size_t i = 0; i < count; ++i) b[i] = Known<T>::draw(random);
    if (alias == 3) b = a;
    Guarded<T> target(count, shifts[0]);
    Guarded<T> left(count, shifts[1]);
    Guarded<T> right(count, shifts[2]);
    Guarded<T>& from_left = (alias & 1U) != 0 ? target : left;
    Guarded<T>& from_right = (alias & 2U) != 0 ? target : right;
    from_left.set(a);
    from_right.set(b);
    kernel(target.data(), from_left.data(), from_right.data(), count);
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_TRUE(
            as_specified<T>(op, target.data() + i * sizeof(T), Known<T>::combine(op, a[i], b[i])))
            << base::name_of(op) << ", count " << count << ", element " << i;
    ASSERT_TRUE(target.guards_hold() && left.guards_hold() && right.guards_hold());
}

/// Checks the kernels of a type on every instruction set, for counts up to `count_max`.
template <class T>
void check_type(std::size_t count_max) {
    SCOPED_TRACE(base::name_of(type_of<T>()));
    ASSERT_EQ(base::size_of(type_of<T>()), sizeof(T));
    constexpr std::array<std::array<std::size_t, 3>, 5> kShifts = {
        {{0, 0, 0}, {1, 0, 0}, {0, 3, 5}, {7, 7, 7}, {13, 2, 9}}};
    for (const std::string_view isa : runnable_isas()) {
        SCOPED_TRACE(isa);
        std::mt19937_64 random(20240611);
        for (int number = 0; number < kBuiltinOps; ++number) {
            const auto op = static_cast<Op>(number);
            const ReduceFn kernel = select_isa(isa).value().kernel(type_of<T>(), op);
            ASSERT_EQ(kernel == nullptr, best_kernels().kernel(type_of<T>(), op) == nullptr);
            if (kernel == nullptr) continue;
            for (std::size_t count = 0; count <= count_max; ++count)
                for (const auto& shifts : kShifts)
                    for (unsigned alias = 0; alias < 4; ++alias)
                        check_call<T>(kernel, op, count, shifts, alias, random);
        }
    }
}

}  // namespace weft::run
