// SPDX-License-Identifier: BSD-3-Clause
// exact_values.hpp - values of exact sums: elements as doubles, infinities, NaNs and zeros.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "run/reduce/exact_digits.hpp"
#include "weft/elements.hpp"

namespace weft::run {

/// Converts `count` elements of any alignment to doubles.
template <class T>
void widen_all(const std::byte* from, std::size_t count, double* to) {
    if constexpr (std::is_same_v<T, double>) {
        std::memcpy(to, from, count * sizeof *to);
    } else {
        for (std::size_t i = 0; i < count; ++i) {
            T value;
            std::memcpy(&value, from + i * sizeof value, sizeof value);
            to[i] = static_cast<float>(value);
        }
    }
}

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

/// Converts `count` elements from index `first` to doubles.
inline void widen(Type type, const void* from, std::size_t first, std::size_t count, double* to) {
    with_type(type, [&](auto sample) {
        using T = decltype(sample);
        widen_all<T>(static_cast<const std::byte*>(from) + first * sizeof(T), count, to);
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
        if ((bits & kInfinityBits) != kInfinityBits) return;
        const bool nan = (bits & kMantissaMask) != 0;
        positive = positive || nan || (bits & kSignBit) == 0;
        negative = negative || nan || (bits & kSignBit) != 0;
    }
};

[[nodiscard]] inline bool is_finite(std::uint64_t bits) {
    return (bits & kInfinityBits) != kInfinityBits;
}

}  // namespace weft::run
