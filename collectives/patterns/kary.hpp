// SPDX-License-Identifier: BSD-3-Clause
// kary.hpp - the regular tree of degree k over 0..size-1 rooted at 0, every subtree a range.
//
// Idea     The ranks behind a subtree's first are divided over k subtrees as evenly as they go. So the
//          tree is as low as one of degree k can be, and rank order can be kept.
// Holds    Finding a place takes time in proportion to k and the height: no table over the ranks.
// Next     binomial.hpp for the other tree; allreduce/reduce_broadcast.cpp for a user.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weft/types.hpp"

namespace weft::collectives::patterns {

struct Kary {
    Rank size = 1;
    Rank degree = 2;

    struct Place {
        Rank parent = -1;               ///< -1: the root
        std::uint32_t child_index = 0;  ///< among the parent's children
        std::vector<Rank> children;     ///< in rank order, which is largest subtree first
    };

    [[nodiscard]] Place place_of(Rank v) const {
        Place place;
        Rank first = 0;
        Rank held = size;  // ranks of the subtree that begins at `first`
        while (first != v) {
            place.parent = first;
            place.child_index = 0;
            // The subtrees that have one rank more stand in front.
            const Rank small = (held - 1) / degree;
            const Rank fuller = (held - 1) % degree;
            const Rank behind = v - first - 1;
            const Rank in_fuller = fuller * (small + 1);
            const Rank index =
                behind < in_fuller ? behind / (small + 1) : fuller + (behind - in_fuller) / small;
            first += 1 + index * small + std::min(index, fuller);
            held = small + (index < fuller ? 1 : 0);
            place.child_index = static_cast<std::uint32_t>(index);
        }
        Rank next = first + 1;
        for (Rank index = 0; index < degree && next < first + held; ++index) {
            place.children.push_back(next);
            next += (held - 1) / degree + (index < (held - 1) % degree ? 1 : 0);
        }
        return place;
    }

    /// The most children that any rank has (those of 0).
    [[nodiscard]] std::uint32_t children_max() const {
        return static_cast<std::uint32_t>(std::min(degree, size - 1));
    }
};

}  // namespace weft::collectives::patterns
