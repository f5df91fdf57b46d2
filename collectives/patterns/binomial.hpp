// SPDX-License-Identifier: BSD-3-Clause
// binomial.hpp - the binomial tree over 0..size-1 rooted at 0, by arithmetic on one number.
//
// Idea     The parent of v is v without its lowest set bit; the children of v are v + 2^k for all
//          2^k below that bit. Subtrees are ranges, so rank order can be kept; a rank's depth is
//          the number of its bits.
// Next     broadcast/ and whatever gathers or reduces along a tree.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "weft/types.hpp"

namespace weft::collectives::patterns {

struct Binomial {
    Rank size = 1;

    /// Of any v but 0.
    [[nodiscard]] static Rank parent(Rank v) { return v & (v - 1); }

    /// Largest subtree first.
    [[nodiscard]] std::vector<Rank> children(Rank v) const {
        const auto limit = v == 0 ? std::bit_ceil(static_cast<std::uint32_t>(size))
                                  : static_cast<std::uint32_t>(v & -v);
        std::vector<Rank> list;
        for (std::uint32_t step = limit >> 1; step > 0; step >>= 1) {
            const std::int64_t child = std::int64_t{v} + step;
            if (child < size) list.push_back(static_cast<Rank>(child));
        }
        return list;
    }

    /// The most children that any node has (those of 0).
    [[nodiscard]] std::uint32_t children_max() const {
        return static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint32_t>(size) - 1));
    }
    /// Place of v among its parent's children (largest subtree first).
    [[nodiscard]] std::uint32_t child_index(Rank v) const {
        std::uint32_t index = 0;
        for (const Rank child : children(parent(v))) {
            if (child == v) break;
            ++index;
        }
        return index;
    }
};

}  // namespace weft::collectives::patterns
