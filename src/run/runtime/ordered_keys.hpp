// SPDX-License-Identifier: BSD-3-Clause
// ordered_keys.hpp - floating-point numbers as integers in the same order.
//
// Why      Networks combine integers exactly and in any order. Their floating-point minima and
//          maxima neither let a NaN win nor know that -0.0 is less than +0.0, as ours do.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "weft/types.hpp"

namespace weft::run {

/// In the order of the numbers, -0.0 before +0.0; a NaN is the one that wins.
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
