// SPDX-License-Identifier: BSD-3-Clause
// split_tree.hpp - a binary tree with two sides, each of which carries one half of the vector.
//
// Idea     Numbers are counted from the root. Numbers 1 .. left are the left side, which is a
//          subtree of the root. Larger numbers are the right side. Number v on the left and v +
//          left are counterparts.
// Source   Pjesivac-Grbovic et al., Performance analysis of MPI collective operations.
// Holds    All numbers on the right have a counterpart. If the number of ranks is even, the last
//          number on the left has none.
#pragma once

#include "collectives/patterns/range_tree.hpp"
#include "collectives/patterns/relative_rank.hpp"

namespace weft::collectives::patterns {

struct SplitPlace {
    explicit SplitPlace(RelativeRank whose)
        : relative(whose),
          own(whose.number()),
          left(whose.size / 2),
          tree(place_in(kary_tree(whose.size, 2), whose)) {}

    RelativeRank relative;
    Rank own;        ///< counted from the root
    Rank left;       ///< ranks on the left side
    TreePlace tree;  ///< the root's first child is the top of the left side

    [[nodiscard]] bool is_root() const { return own == 0; }
    /// Returns the half of this rank's side: 0 (left) or 1 (right).
    [[nodiscard]] std::uint32_t half() const { return own <= left ? 0 : 1; }
    [[nodiscard]] bool has_counterpart() const { return own > left || own + left < relative.size; }
    /// Returns the counterpart, or the root if this rank has no counterpart.
    [[nodiscard]] Rank counterpart() const {
        if (!has_counterpart()) return relative.root;
        return relative.rank_of(own > left ? own - left : own + left);
    }
    /// Returns true if one rank has no counterpart. It gets the other half from the root.
    [[nodiscard]] bool has_single() const { return relative.size % 2 == 0; }
    [[nodiscard]] Rank single() const { return relative.rank_of(left); }
};

}  // namespace weft::collectives::patterns
