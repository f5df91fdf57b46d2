// SPDX-License-Identifier: BSD-3-Clause
// reference.hpp - what collectives must give, folded serially in rank order, apart from the library.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "weft/weft.hpp"

namespace weft::test {

/// 2x2 matrices over 64-bit integers that wrap: associative, not commutative.
using Matrix = std::array<std::uint64_t, 4>;

inline Matrix multiply(const Matrix& a, const Matrix& b) {
    return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
            a[2] * b[1] + a[3] * b[3]};
}

/// A UserFunction: inout[i] = in[i] * inout[i].
inline void multiply_matrices(const void* in, void* inout, std::size_t count, void*) {
    const auto* left = static_cast<const std::byte*>(in);
    auto* right = static_cast<std::byte*>(inout);
    for (std::size_t i = 0; i < count; ++i) {
        Matrix a;
        Matrix b;
        std::memcpy(&a, left + i * sizeof a, sizeof a);
        std::memcpy(&b, right + i * sizeof b, sizeof b);
        const Matrix product = multiply(a, b);
        std::memcpy(right + i * sizeof product, &product, sizeof product);
    }
}

inline std::uint64_t mix(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
}

/// Element `index` of what `rank` contributes to round `round`; small whole numbers, so that every
/// type holds sums and products of 16 ranks exactly or wraps.
template <class T>
T contribution(Rank rank, std::size_t index, std::uint64_t round) {
    const std::uint64_t bits =
        mix(round * 1000003 + index * 131 + static_cast<std::uint64_t>(rank));
    if constexpr (std::is_same_v<T, Matrix>) {
        return {bits & 7U, (bits >> 3) & 7U, (bits >> 6) & 7U, (bits >> 9) & 7U};
    } else {
        return static_cast<T>(bits % 3);
    }
}

template <class T>
T fold(Op op, T a, T b) {
    if constexpr (std::is_same_v<T, Matrix>) {
        return multiply(a, b);
    } else {
        if constexpr (std::is_integral_v<T>) {
            if (op == Op::sum)
                return static_cast<T>(static_cast<std::uint64_t>(a) +
                                      static_cast<std::uint64_t>(b));
            if (op == Op::prod)
                return static_cast<T>(static_cast<std::uint64_t>(a) *
                                      static_cast<std::uint64_t>(b));
            if (op == Op::band) return static_cast<T>(a & b);
            if (op == Op::bor) return static_cast<T>(a | b);
            if (op == Op::bxor) return static_cast<T>(a ^ b);
        }
        switch (op) {
            case Op::sum:
                return a + b;
            case Op::prod:
                return a * b;
            case Op::min:
                return b < a ? b : a;
            case Op::max:
                return a < b ? b : a;
            case Op::land:
                return static_cast<T>(a != T{} && b != T{});
            case Op::lor:
                return static_cast<T>(a != T{} || b != T{});
            default:
                return static_cast<T>((a != T{}) != (b != T{}));
        }
    }
}

template <class T>
std::vector<T> contributions(Rank rank, std::size_t count, std::uint64_t round) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = contribution<T>(rank, i, round);
    return values;
}

/// The reduction over ranks 0 .. size-1, in rank order. A single rank's values pass through.
template <class T>
std::vector<T> reduction(Rank size, std::size_t count, std::uint64_t round, Op op) {
    std::vector<T> result = contributions<T>(0, count, round);
    for (Rank rank = 1; rank < size; ++rank) {
        for (std::size_t i = 0; i < count; ++i)
            result[i] = fold<T>(op, result[i], contribution<T>(rank, i, round));
    }
    return result;
}

}  // namespace weft::test
