// SPDX-License-Identifier: BSD-3-Clause
// double_tree.hpp - two binary trees below one root; each rank is an inner node of at most one.
//
// Idea     The first tree has the numbers 1..size-1 in order. A number with lowest set bit b > 1
//          has children at distance b/2 on both sides; if the larger number does not exist, its
//          distance is the largest smaller power of two with which it exists. The top is the
//          largest power of two. All inner nodes are even. The second tree is the first one with
//          all numbers mirrored (even count) or shifted by one (odd count), so that its inner nodes
//          are odd.
// Source   Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast,
//          reduction and scan.
// Holds    Trees are ceil(log2 size) edges deep. The mirrored tree keeps the order of numbers, the
//          shifted one does not.
#pragma once

#include <bit>
#include <cstdint>

#include "collectives/patterns/range_tree.hpp"
#include "weft/types.hpp"

namespace weft::collectives::patterns {

/// Neighbors of a node in one of the trees. -1: no such node.
struct InnerPlace {
    Rank parent = -1;
    std::uint32_t child_index = 0;  ///< index among the parent's children
    Rank children[2] = {-1, -1};    ///< the second child exists only if the first one does
    /// Index of the child with smaller numbers than the node; the other child has larger ones.
    int before = -1;
};

class DoubleTree {
  public:
    explicit DoubleTree(Rank size) : count_(size - 1), mirrored_(count_ % 2 == 0) {}

    /// Returns the position of number v in tree 0 or 1.
    [[nodiscard]] InnerPlace place(int tree, Rank v) const {
        if (tree == 0) return place_in_first(v);
        InnerPlace place = place_in_first(v == 0 ? 0 : other_number(v, -1));
        for (Rank* other : {&place.parent, &place.children[0], &place.children[1]})
            if (*other > 0) *other = other_number(*other, +1);
        if (mirrored_ && v != 0) place.before = 1;
        return place;
    }
    /// Returns the position of rank `own`, with ranks instead of numbers.
    [[nodiscard]] InnerPlace place(int tree, const RelativeRank& own) const {
        InnerPlace found = place(tree, own.number());
        for (Rank* other : {&found.parent, &found.children[0], &found.children[1]})
            if (*other >= 0) *other = own.rank_of(*other);
        return found;
    }

  private:
    /// Maps a number of the second tree to the first (`by` -1), or back (`by` 1). Mirrors it, or
    /// shifts it by `by` if the count is odd.
    [[nodiscard]] Rank other_number(Rank v, Rank by) const {
        return mirrored_ ? count_ + 1 - v : (v - 1 + by + count_) % count_ + 1;
    }
    [[nodiscard]] InnerPlace place_in_first(Rank v) const {
        InnerPlace place;
        if (v == 0) {
            if (count_ > 0)
                place.children[0] =
                    static_cast<Rank>(std::bit_floor(static_cast<unsigned>(count_)));
            return place;
        }
        const Rank bit = v & -v;
        const std::int64_t up = (std::int64_t{v} ^ bit) | (std::int64_t{bit} << 1);
        place.parent = up > count_ ? v ^ bit : static_cast<Rank>(up);
        place.child_index = place.parent != 0 && v > place.parent ? 1 : 0;
        place.before = 0;
        if (bit > 1) place.children[0] = v - bit / 2;
        for (Rank step = bit / 2; step > 0; step /= 2) {
            if (v > count_ - step) continue;
            place.children[1] = v + step;
            break;
        }
        return place;
    }

    Rank count_;
    bool mirrored_;
};

}  // namespace weft::collectives::patterns
