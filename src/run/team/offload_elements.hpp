// SPDX-License-Identifier: BSD-3-Clause
// offload_elements.hpp - converts elements of a reduction to the form that the network combines.
//
// Idea     Networks combine integers exactly and in any order. Their floating-point minimum and
//          maximum differ from weft's: they ignore a NaN, and treat -0.0 and +0.0 as equal. So weft
//          maps floating-point numbers to integers of the same order, the *keys*, for min and max.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "weft/types.hpp"

namespace weft::run {

struct OffloadElements {
    Type type = Type::int64;  ///< element type that the network combines
    bool keyed = false;       ///< the elements are keys of floating-point numbers
    bool any_order = false;   ///< every order of operands gives an equal result

    /// Returns true if `op` on these elements can be offloaded.
    [[nodiscard]] bool are_combined(Op op) const;
    /// Fills `to` with the identity element of `op`.
    void fill(std::byte* to, std::uint64_t count, Op op) const;
    /// Copies the caller's elements to memory for the network; if `keyed`, as keys.
    void store(std::byte* to, const std::byte* from, std::uint64_t count, Op op) const;
    /// Copies results to the caller's memory; if `keyed`, from keys.
    void load(std::byte* to, const std::byte* from, std::uint64_t count) const;
};
/// Returns the form in which the network combines elements of `type` with `op`.
[[nodiscard]] OffloadElements offload_elements(Type type, Op op);

/// Returns an integer; keys have the order of the numbers, with -0.0 before +0.0. The key of a NaN
/// is the result of every minimum (for Op::min) or maximum.
template <class Key, class Float>
[[nodiscard]] Key key_of(Float value, Op op) {
    if (std::isnan(value))
        return op == Op::min ? std::numeric_limits<Key>::min() : std::numeric_limits<Key>::max();
    const Key bits = std::bit_cast<Key>(value);
    return bits < 0 ? bits ^ std::numeric_limits<Key>::max() : bits;
}
/// Inverts key_of(). The key of a NaN becomes a NaN.
template <class Key, class Float>
[[nodiscard]] Float value_of(Key key) {
    return std::bit_cast<Float>(key < 0 ? key ^ std::numeric_limits<Key>::max() : key);
}

}  // namespace weft::run
