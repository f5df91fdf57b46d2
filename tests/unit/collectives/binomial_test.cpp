// SPDX-License-Identifier: BSD-3-Clause
// Goal: the arithmetic of trees is right in both directions. Method: every node of small trees.
#include "collectives/patterns/binomial.hpp"

#include <gtest/gtest.h>

namespace weft::collectives::patterns {
namespace {

TEST(Binomial, EveryNodeIsTheChildOfItsParentOnce) {
    for (Rank size = 1; size <= 70; ++size) {
        const Binomial tree{size};
        std::vector<int> seen(static_cast<std::size_t>(size), 0);
        std::uint32_t most = 0;
        for (Rank v = 0; v < size; ++v) {
            std::uint32_t index = 0;
            for (const Rank child : tree.children(v)) {
                EXPECT_EQ(Binomial::parent(child), v);
                EXPECT_EQ(tree.child_index(child), index++);
                ++seen[static_cast<std::size_t>(child)];
            }
            most = std::max(most, index);
        }
        EXPECT_EQ(most, tree.children_max());
        for (Rank v = 1; v < size; ++v) EXPECT_EQ(seen[static_cast<std::size_t>(v)], 1) << v;
        EXPECT_EQ(seen[0], 0);
    }
}

}  // namespace
}  // namespace weft::collectives::patterns
