// SPDX-License-Identifier: BSD-3-Clause
// Goal: every kind of tree divides all ranks into subtrees, and find_node() computes the parent,
// index and size of each node.
// Method: all small trees are walked from the root; each node is compared with find_node().
#include "collectives/patterns/range_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "collectives/patterns/double_tree.hpp"

namespace weft::collectives::patterns {
namespace {

/// Visits the nodes below `root`, which has `nodes` of the tree's `size` ranks in its subtree.
/// Expects equal results of find_node(). Returns the subtree's depth.
int walk(const RangeTree& tree, Rank size, Rank root, Rank nodes) {
    int depth = 0;
    Rank covered = 1;
    std::uint32_t index = 0;
    std::vector<Branch> branches = tree.branches(nodes);
    EXPECT_LE(branches.size(), tree.children_max);
    for (const Branch& branch : branches) {
        const TreeNode child = find_node(tree, size, root + branch.distance);
        EXPECT_EQ(child.parent, root);
        EXPECT_EQ(child.child_index, index++);
        EXPECT_EQ(child.size, branch.size);
        EXPECT_EQ(child.branches, tree.branches(branch.size));
        covered += branch.size;
        depth = std::max(depth, 1 + walk(tree, size, root + branch.distance, branch.size));
    }
    EXPECT_EQ(covered, nodes);
    std::ranges::sort(branches, {}, &Branch::distance);
    Rank next = 1;
    for (const Branch& branch : branches) {
        EXPECT_EQ(branch.distance, next);
        next += branch.size;
    }
    return depth;
}

TEST(RangeTree, ParentsAndChildrenAgree) {
    for (Rank size = 1; size <= 70; ++size) {
        std::vector<RangeTree> trees{logp_tree(size, {}), logp_tree(size, {1, 5, 20})};
        for (const Rank k : {1, 2, 3, 4, 5, 69}) trees.push_back(kary_tree(size, k));
        for (const Rank k : {2, 3, 4, 7}) trees.push_back(knomial_tree(size, k));
        for (const RangeTree& tree : trees) {
            EXPECT_EQ(find_node(tree, size, 0).parent, -1);
            walk(tree, size, 0, size);
            walk(in_rank_order(tree), size, 0, size);
        }
    }
}

TEST(RangeTree, RegularTreesHaveMinimalHeight) {
    for (Rank k = 1; k <= 5; ++k) {
        for (Rank size = 1; size <= 60; ++size) {
            // A tree of height h has at most 1 + k + .. + k^h ranks.
            std::int64_t ranks_max = 1;
            std::int64_t row = 1;
            int height = 0;
            for (; ranks_max < size; ++height) ranks_max += row *= k;
            EXPECT_EQ(walk(kary_tree(size, k), size, 0, size), height)
                << size << " of degree " << k;
        }
    }
}

TEST(DoubleTree, NoRankHasChildrenInBothTrees) {
    for (int size = 2; size <= 600; ++size) {
        const DoubleTree trees(size);
        for (Rank v = 1; v < size; ++v) {
            const bool first = !trees.place(0, v).children.empty();
            const bool second = !trees.place(1, v).children.empty();
            EXPECT_FALSE(first && second) << v << " of " << size;
        }
    }
}

}  // namespace
}  // namespace weft::collectives::patterns
