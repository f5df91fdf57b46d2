// SPDX-License-Identifier: BSD-3-Clause
// ordered_keys.hpp - floating-point numbers as integers with the same order.
//
// Why      Networks combine integers exactly and in any order. In their floating-point minima and
//          maxima, unlike in weft's, a NaN does not win, and -0.0 is not less than +0.0.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "weft/types.hpp"

namespace weft::run {

/// Returns a key in the order of the numbers, with -0.0 before +0.0. The key of a NaN wins.
template <class Key, class Float>
[[nodiscard]] Key key_of(Float value, Op op) {
    if (std::isnan(value))
        return op == Op::min ? std::numeric_limits<Key>::min() : std::numeric_limits<Key>::max();
    const Key bits = std::bit_cast<Key>(value);
    return bits < 0 ? bits ^ std::numeric_limits<Key>::max() : bits;
}
template <class Key, class Float>
[[nodiscard]] Float value_of(Key key) {
    return std::bit_cast<Float>(key < 0 ? key ^ std::numeric_limits<Key>::max() : key);
}

}  // namespace weft::run
