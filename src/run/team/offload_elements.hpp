// SPDX-License-Identifier: BSD-3-Clause
// offload_elements.hpp - the elements of a reduction, as the network combines them.
//
// Idea     Networks combine integers exactly and in any order. In their floating-point minima and
//          maxima, unlike in weft's, a NaN does not win, and -0.0 is not less than +0.0. So these
//          are computed on integers with the same order, the keys.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "weft/types.hpp"

namespace weft::run {

struct OffloadElements {
    Type type = Type::int64;
    bool keyed = false;      ///< elements are converted to keys before, and back after
    bool any_order = false;  ///< the result does not depend on the order of operands

    /// Returns true if the network combines such elements.
    [[nodiscard]] bool are_combined(Op op) const;
    /// Writes elements that change no result.
    void fill(std::byte* to, std::uint64_t count, Op op) const;
    /// Copies the caller's elements to memory of the network.
    void store(std::byte* to, const std::byte* from, std::uint64_t count, Op op) const;
    /// Copies results back.
    void load(std::byte* to, const std::byte* from, std::uint64_t count) const;
};
[[nodiscard]] OffloadElements offload_elements(Type type, Op op);

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
