// SPDX-License-Identifier: BSD-3-Clause
// range_tree.hpp - trees over 0..size-1 rooted at 0, in which every subtree is a range that starts
// at its root.
//
// Idea     A tree is a rule that cuts a subtree of some size into its root and the subtrees of its
//          children. A node is found by going down from the root, so nothing is stored for the
//          others.
// Why      Ranges keep rank order: a node's own value, then its children's in order of their
//          ranges.
// Holds    Finding a node takes time in proportion to its depth and its own branches (LogP trees:
//          to the branches on the way to it; chains: to nothing).
// Next     collectives/trees.hpp for the trees that specs name.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/patterns/relative_rank.hpp"
#include "weft/types.hpp"

namespace weft::collectives::patterns {

/// A child of a node: its distance from that, and how many nodes its subtree has.
struct Branch {
    Rank distance = 0;
    Rank size = 0;

    friend bool operator==(const Branch&, const Branch&) = default;
};

/// The child in whose subtree a node is: which one, as its siblings are served.
struct Child {
    std::uint32_t index = 0;
    Branch branch;
};

struct RangeTree {
    /// The children of the root of a subtree of this size, in the order in which they are served.
    std::function<std::vector<Branch>(Rank size)> branches;
    /// Of that root, the child on the way to the node at a distance > 0 from it.
    std::function<Child(Rank size, Rank distance)> child_towards;
    std::uint32_t children_max = 0;  ///< no node has more
};

/// k children each, of equal size but for one node; as shallow as k children allow. k = 1 is a
/// chain, k = size - 1 the flat tree.
[[nodiscard]] RangeTree kary_tree(Rank size, Rank k);
/// The k-nomial tree: a node's number in base k, its last digits that are 0 replaced, gives
/// children.
[[nodiscard]] RangeTree knomial_tree(Rank size, Rank k);

/// What a message costs, in any unit of time: sending starts one each `gap` (or overhead, if that
/// is longer); it has arrived overhead + latency + overhead later.
struct LogP {
    std::int64_t latency = 6;
    std::int64_t overhead = 2;
    std::int64_t gap = 4;
};
/// The tree along which a message reaches all nodes soonest: each that has it sends it on without
/// pause.
[[nodiscard]] RangeTree logp_tree(Rank size, LogP costs);

/// The same tree, children in order of their ranges.
[[nodiscard]] RangeTree in_rank_order(RangeTree tree);

/// A node's neighbours, by their numbers.
struct TreeNode {
    Rank parent = -1;               ///< -1: the root
    std::uint32_t child_index = 0;  ///< among the parent's children
    Rank size = 1;                  ///< of the subtree that starts here
    std::vector<Branch> branches;
};
[[nodiscard]] TreeNode find_node(const RangeTree& tree, Rank size, Rank node);

/// One rank's neighbours in a tree whose numbers are counted from the root; ranks, not numbers.
struct TreePlace {
    Rank parent = -1;               ///< -1 at the root
    std::uint32_t child_index = 0;  ///< among the parent's children
    std::vector<Rank> children;
    std::uint32_t children_max = 0;  ///< of any rank; the same on all ranks
};
[[nodiscard]] TreePlace place_in(const RangeTree& tree, RelativeRank own);

}  // namespace weft::collectives::patterns
