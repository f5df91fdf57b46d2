// SPDX-License-Identifier: BSD-3-Clause
// range_tree.hpp - trees over 0..size-1 with root 0, in which every subtree is a range of numbers.
//
// Idea     A tree is a rule that splits a subtree of some size into its root and the subtrees of
//          its children. A node is found by descent from the root, so other nodes need no storage.
// Why      Ranges keep rank order: a node's own value is first, then its children's in the order
//          of their ranges.
// Holds    The time to find a node is proportional to its depth and its number of branches. For
//          LogP trees, all branches on the path count; for chains, the time is constant.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weft/types.hpp"

namespace weft::collectives::patterns {

/// Ranks counted from the root, modulo the number of ranks: the root has number 0, the next rank
/// number 1.
struct RelativeRank {
    Rank rank = 0;
    Rank size = 1;
    Rank root = 0;

    [[nodiscard]] Rank number() const { return number_of(rank); }
    [[nodiscard]] Rank number_of(Rank other) const {
        return other < root ? other - root + size : other - root;
    }
    [[nodiscard]] Rank rank_of(Rank number) const {
        return static_cast<Rank>((std::int64_t{number} + root) % size);
    }
};

/// A child of a node: its distance from the node, and the number of nodes in its subtree.
struct Branch {
    Rank distance = 0;
    Rank size = 0;

    friend bool operator==(const Branch&, const Branch&) = default;
};

/// Child whose subtree contains a certain node.
struct Child {
    std::uint32_t index = 0;  ///< index among its siblings, in the order in which they are served
    Branch branch;
};

struct RangeTree {
    /// Returns the children of the root of a subtree of `size` nodes, in the order in which it
    /// serves them.
    std::function<std::vector<Branch>(Rank size)> branches;
    /// Returns the child of that root whose subtree has the node at `distance` > 0 from the root.
    std::function<Child(Rank size, Rank distance)> child_towards;
    std::uint32_t children_max = 0;  ///< largest number of children of a node
    /// Nodes of the largest subtree of a child, by the number of the child's later siblings. Empty:
    /// the subtrees of the root's children are the largest.
    std::vector<Rank> largest = {};
};

/// Returns the tree in which nodes have up to k children with subtrees of almost equal size. It has
/// the least depth possible. k = 1 is a chain, k = size - 1 the flat tree.
[[nodiscard]] RangeTree kary_tree(Rank size, Rank k);
/// Returns the k-nomial tree: a node's children differ from it in one of the trailing zeros of its
/// number in base k.
[[nodiscard]] RangeTree knomial_tree(Rank size, Rank k);

/// Cost of a message in any unit of time. A sender starts a message every `gap` (or `overhead`, if
/// longer). The message arrives after overhead + latency + overhead.
struct LogP {
    std::int64_t latency = 6;
    std::int64_t overhead = 2;
    std::int64_t gap = 4;
};
/// Returns the tree along which a message reaches all nodes earliest: every node that has it
/// sends without pause.
[[nodiscard]] RangeTree logp_tree(Rank size, LogP costs);

/// Cost of a message of m blocks: its sender is busy for overhead + m block. The receiver has it
/// latency + overhead later.
struct LogGP {
    std::int64_t latency = 6;
    std::int64_t overhead = 2;
    std::int64_t block = 1;
};
/// Returns the tree along which the blocks of all nodes reach them earliest, if each node gets the
/// blocks of its subtree in one message. Takes time and memory proportional to `size`.
/// `gathers`: the tree along which the root receives all blocks earliest. The parent is then busy
/// for `overhead` with each message, and the child for its blocks.
[[nodiscard]] RangeTree block_tree(Rank size, LogGP costs, bool gathers = false);

/// Returns the same tree with children in the order of their ranges.
[[nodiscard]] RangeTree in_rank_order(RangeTree tree);

/// Neighbors of a node, by their numbers.
struct TreeNode {
    Rank parent = -1;               ///< -1 at the root
    std::uint32_t child_index = 0;  ///< index among the parent's children
    Rank parent_size = 0;           ///< nodes of the parent's subtree
    Rank size = 1;                  ///< nodes of its subtree, with itself
    std::vector<Branch> branches;
};
[[nodiscard]] TreeNode find_node(const RangeTree& tree, Rank size, Rank node);

/// Neighbors of a rank in a tree whose numbers are RelativeRank numbers; all members are ranks.
struct TreePlace {
    Rank parent = -1;               ///< -1 at the root
    std::uint32_t child_index = 0;  ///< index among the parent's children
    std::vector<Rank> children;
    std::uint32_t children_max = 0;  ///< largest number of children of a rank; equal on all ranks
    /// Index of a child with smaller numbers than the node, if it has such a child.
    std::uint32_t before = ~0U;
};
[[nodiscard]] TreePlace place_in(const RangeTree& tree, RelativeRank own);

}  // namespace weft::collectives::patterns
