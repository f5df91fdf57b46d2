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

class DoubleTree {
  public:
    explicit DoubleTree(Rank size) : count_(size - 1), mirrored_(count_ % 2 == 0) {}

    /// Returns the neighbors of number v in tree 0 or 1, as numbers. A node has at most two
    /// children.
    [[nodiscard]] TreePlace place(int tree, Rank v) const {
        if (tree == 0) return place_in_first(v);
        TreePlace place = place_in_first(v == 0 ? 0 : other_number(v, -1));
        for_each_neighbor(place,
                          [&](Rank other) { return other > 0 ? other_number(other, +1) : other; });
        if (mirrored_ && v != 0) place.before = 1;
        return place;
    }
    /// Returns the neighbors of rank `own`, as ranks.
    [[nodiscard]] TreePlace place(int tree, const RelativeRank& own) const {
        TreePlace found = place(tree, own.number());
        for_each_neighbor(found, [&](Rank other) { return own.rank_of(other); });
        return found;
    }

  private:
    /// Replaces the numbers of the neighbors by of(number).
    template <class Of>
    static void for_each_neighbor(TreePlace& place, Of of) {
        if (place.parent >= 0) place.parent = of(place.parent);
        for (Rank& child : place.children) child = of(child);
    }
    /// Maps a number of the second tree to the first (`by` -1), or back (`by` 1). Mirrors it, or
    /// shifts it by `by` if the count is odd.
    [[nodiscard]] Rank other_number(Rank v, Rank by) const {
        return mirrored_ ? count_ + 1 - v : (v - 1 + by + count_) % count_ + 1;
    }
    [[nodiscard]] TreePlace place_in_first(Rank v) const {
        TreePlace place{.children_max = 2};
        if (v == 0) {
            if (count_ > 0)
                place.children.push_back(
                    static_cast<Rank>(std::bit_floor(static_cast<unsigned>(count_))));
            return place;
        }
        const Rank bit = v & -v;
        const std::int64_t up = (std::int64_t{v} ^ bit) | (std::int64_t{bit} << 1);
        place.parent = up > count_ ? v ^ bit : static_cast<Rank>(up);
        place.child_index = place.parent != 0 && v > place.parent ? 1 : 0;
        place.before = 0;
        if (bit > 1) place.children.push_back(v - bit / 2);
        for (Rank step = bit / 2; step > 0; step /= 2) {
            if (v > count_ - step) continue;
            place.children.push_back(v + step);
            break;
        }
        return place;
    }

    Rank count_;
    bool mirrored_;
};

}  // namespace weft::collectives::patterns
