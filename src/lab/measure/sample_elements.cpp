// SPDX-License-Identifier: BSD-3-Clause
#include "lab/measure/sample_elements.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstring>
#include <type_traits>

#include "base/check.hpp"
#include "weft/elements.hpp"

namespace weft::lab {

namespace {

template <class T>
constexpr bool kIsNarrow = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// One input. Products of many ranks have to stay exact. Floats get powers of two that cancel each other over three
/// ranks, and a few of them a factor of 3; 16-bit floats have few places, so that they get 1 and 2 alone.
/// Complex numbers get 1+i and what cancels it, whose powers are exact; pairs get many equal values.
template <class T>
T value_at(Rank rank, std::size_t index, std::uint64_t batch) {
    const std::uint64_t turn = (static_cast<std::uint64_t>(rank) * 5 + index + 7 * batch) % 3;
    if constexpr (std::is_same_v<T, bool>) {
        return turn != 0;
    } else if constexpr (std::is_floating_point_v<T>) {
        // 13 factors in 4096 ranks, where a float has room for 15.
        const bool third = std::has_single_bit(static_cast<std::uint32_t>(rank));
        constexpr std::array<T, 3> kValues = {T(1), T(2), T(0.5)};
        return kValues[turn] * (third ? T(3) : T(1));
    } else if constexpr (std::is_arithmetic_v<T>) {
        return static_cast<T>(turn + 1);
    } else if constexpr (kIsNarrow<T>) {
        return T(turn == 1 ? 2.0F : 1.0F);
    } else if constexpr (requires { T{}.index; }) {
        T pair;
        pair.value = static_cast<decltype(pair.value)>(turn + 1);
        pair.index =
            static_cast<decltype(pair.index)>((static_cast<std::uint64_t>(rank) * 7 + index) % 11);
        return pair;
    } else {
        constexpr std::array<T, 3> kValues = {T(1, 1), T(0, 1), T(0.5, -0.5)};
        return kValues[turn];
    }
}

template <class T>
T fold_logical(Op op, bool a, bool b) {
    const bool truth = op == Op::land ? a && b : op == Op::lor ? a || b : a != b;
    if constexpr (kIsNarrow<T>)
        return T(truth ? 1.0F : 0.0F);
    else
        return static_cast<T>(truth);
}

template <class T>
T fold_whole(Op op, T a, T b) {
    using Wide = std::uint64_t;  // wraps as the narrow type does
    if (op == Op::sum) return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
    if (op == Op::prod) return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
    if (op == Op::band) return static_cast<T>(a & b);
    if (op == Op::bor) return static_cast<T>(a | b);
    if (op == Op::bxor) return static_cast<T>(a ^ b);
    if (op == Op::min) return std::min(a, b);
    if (op == Op::max) return std::max(a, b);
    return fold_logical<T>(op, a != 0, b != 0);
}

template <class T>
T fold_floating(Op op, T a, T b) {
    if (op == Op::sum) return a + b;
    if (op == Op::prod) return a * b;
    if (op == Op::min) return std::min(a, b);
    if (op == Op::max) return std::max(a, b);
    return fold_logical<T>(op, a != 0, b != 0);
}

template <class T>
T fold_two(Op op, T a, T b) {
    if constexpr (std::is_same_v<T, bool>) {
        if (op == Op::band) return a && b;
        if (op == Op::bor) return a || b;
        return fold_logical<T>(op, a, b);
    } else if constexpr (std::is_integral_v<T>) {
        return fold_whole(op, a, b);
    } else if constexpr (std::is_floating_point_v<T>) {
        return fold_floating(op, a, b);
    } else if constexpr (kIsNarrow<T>) {
        return T(fold_floating(op, static_cast<float>(a), static_cast<float>(b)));
    } else if constexpr (requires { a.index; }) {
        if (a.value == b.value) return a.index < b.index ? a : b;
        return (a.value < b.value) == (op == Op::minloc) ? a : b;
    } else {
        return op == Op::sum ? a + b : a * b;
    }
}

template <class T>
bool equal_two(T a, T b) {
    if constexpr (kIsNarrow<T>)
        return a.bits == b.bits;
    else
        return a == b;
}

template <class T>
T element_at(const std::byte* from, std::size_t index) {
    T value;
    std::memcpy(&value, from + index * sizeof value, sizeof value);
    return value;
}

template <class T>
constexpr SampleElements elements_of() {
    return {.type = type_of<T>(),
            .bytes = sizeof(T),
            .write =
                [](std::byte* to, const SampleRange& range) {
                    for (std::size_t i = 0; i < range.count; ++i) {
                        const T value = value_at<T>(range.rank, range.first + i, range.batch);
                        std::memcpy(to + i * sizeof value, &value, sizeof value);
                    }
                },
            .fold =
                [](Op op, std::byte* into, const std::byte* other, std::size_t count) {
                    for (std::size_t i = 0; i < count; ++i) {
                        const T value =
                            fold_two<T>(op, element_at<T>(into, i), element_at<T>(other, i));
                        std::memcpy(into + i * sizeof value, &value, sizeof value);
                    }
                },
            .equal =
                [](const std::byte* left, const std::byte* right, std::size_t count) {
                    for (std::size_t i = 0; i < count; ++i)
                        if (!equal_two<T>(element_at<T>(left, i), element_at<T>(right, i)))
                            return false;
                    return true;
                }};
}

constexpr std::array<SampleElements, kBuiltinTypes> kElements = {
    elements_of<std::int8_t>(),
    elements_of<std::int16_t>(),
    elements_of<std::int32_t>(),
    elements_of<std::int64_t>(),
    elements_of<std::uint8_t>(),
    elements_of<std::uint16_t>(),
    elements_of<std::uint32_t>(),
    elements_of<std::uint64_t>(),
    elements_of<float>(),
    elements_of<double>(),
    elements_of<long double>(),
    elements_of<std::complex<float>>(),
    elements_of<std::complex<double>>(),
    elements_of<bool>(),
    elements_of<Float16>(),
    elements_of<BFloat16>(),
    elements_of<ValueIndex<float>>(),
    elements_of<ValueIndex<double>>(),
    elements_of<ValueIndex<std::int16_t>>(),
    elements_of<ValueIndex<std::int32_t>>(),
    elements_of<ValueIndex<std::int64_t>>(),
    elements_of<ValueIndex<long double>>(),
    elements_of<ValueIndex<double, std::int64_t>>(),
    elements_of<ValueIndex<std::int64_t, std::int64_t>>()};

constexpr bool in_order() {
    for (std::size_t i = 0; i < kElements.size(); ++i)
        if (static_cast<std::size_t>(kElements[i].type) != i) return false;
    return true;
}
static_assert(in_order());

}  // namespace

const SampleElements& sample_elements(Type type) {
    const auto at = static_cast<std::size_t>(type);
    WEFT_CHECK(at < kElements.size(), at);
    return kElements[at];
}

}  // namespace weft::lab
