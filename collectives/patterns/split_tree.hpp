// SPDX-License-Identifier: BSD-3-Clause
// split_tree.hpp - a binary tree in two sides, each of which has one half of the vector.
//
// Idea     Ranks are counted from the root: numbers 1 .. left are the left side, a range and a
//          subtree of the root, the other numbers but 0 the right one. Number v on the left and v +
//          left are counterparts.
// Source   Pjesivac-Grbovic et al., Performance analysis of MPI collective operations.
// Holds    All on the right have a counterpart; of an even number of ranks the last on the left has
//          none.
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
    /// Whose side's half is this rank's.
    [[nodiscard]] std::uint32_t half() const { return own <= left ? 0 : 1; }
    [[nodiscard]] bool has_counterpart() const { return own > left || own + left < relative.size; }
    /// The counterpart; the root, if there is none.
    [[nodiscard]] Rank counterpart() const {
        if (!has_counterpart()) return relative.root;
        return relative.rank_of(own > left ? own - left : own + left);
    }
    /// The rank without a counterpart, to which the root sends that half.
    [[nodiscard]] bool has_single() const { return relative.size % 2 == 0; }
    [[nodiscard]] Rank single() const { return relative.rank_of(left); }
};

}  // namespace weft::collectives::patterns
