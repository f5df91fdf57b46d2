// SPDX-License-Identifier: BSD-3-Clause
// typed_elements.hpp - elements of the types that are no C integers, float or double: inputs,
// folds, equality.
//
// Holds    Inputs are such that every intermediate result is exact, and have many ties. Nothing is
//          shared with the library's kernels.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "weft/elements.hpp"

namespace weft::test {

/// Elements of twelve bytes that a user's operation combines: sum, maximum and exclusive or.
struct Triple {
    std::uint32_t sum, most, toggled;
    friend bool operator==(const Triple&, const Triple&) = default;
};

template <class T>
constexpr bool kIs16Bits = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// An input, from random bits.
template <class T>
T typed_element(std::uint64_t bits) {
    if constexpr (std::is_same_v<T, Triple>) {
        return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 16),
                static_cast<std::uint32_t>(bits >> 32)};
    } else if constexpr (std::is_same_v<T, bool>) {
        return bits % 2 == 1;
    } else if constexpr (kIs16Bits<T>) {
        return T(static_cast<float>(bits % 3));
    } else if constexpr (requires(T x) { x.index; }) {
        T pair;
        pair.value = static_cast<decltype(pair.value)>(bits % 3);
        pair.index = static_cast<decltype(pair.index)>((bits >> 8) % 5);
        return pair;
    } else if constexpr (std::is_floating_point_v<T>) {
        return static_cast<T>(bits % 3);
    } else {  // powers of 1 + i, so that products are exact
        return bits % 3 == 0 ? T(1, 1) : bits % 3 == 1 ? T(0, 2) : T(1, -1);
    }
}

template <class F>
F typed_number(Op op, F a, F b) {
    if (op == Op::sum) return a + b;
    if (op == Op::prod) return a * b;
    if (op == Op::min) return std::min(a, b);
    return std::max(a, b);
}

template <class T>
T typed_fold(Op op, const T& a, const T& b) {
    if constexpr (std::is_same_v<T, Triple>) {
        return {a.sum + b.sum, std::max(a.most, b.most), a.toggled ^ b.toggled};
    } else if constexpr (std::is_same_v<T, bool>) {
        if (op == Op::land || op == Op::band) return a && b;
        if (op == Op::lor || op == Op::bor) return a || b;
        return a != b;
    } else if constexpr (kIs16Bits<T>) {
        return T(typed_number(op, static_cast<float>(a), static_cast<float>(b)));
    } else if constexpr (requires { a.index; }) {
        if (a.value == b.value) return a.index < b.index ? a : b;
        return (a.value < b.value) == (op == Op::minloc) ? a : b;
    } else if constexpr (std::is_floating_point_v<T>) {
        return typed_number(op, a, b);
    } else {
        return op == Op::sum ? a + b : a * b;
    }
}

template <class T>
bool typed_equal(const T& a, const T& b) {
    if constexpr (kIs16Bits<T>)
        return a.bits == b.bits;
    else
        return a == b;
}

}  // namespace weft::test
