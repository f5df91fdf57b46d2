// SPDX-License-Identifier: BSD-3-Clause
// Goal: a layout agrees with the table of nodes from which it was made, in each of its
// representations.
// Method: tests compare layouts of random tables with maps made from the tables.
#include "plan/schedule/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.hpp"

namespace weft::plan {
namespace {

/// Expects that a layout agrees with `node_of`, the node of each rank. A layout numbers nodes in
/// order of their first ranks.
void expect_agrees(const Layout& layout, const std::vector<Rank>& node_of) {
    std::map<Rank, Rank> numbers;             // number of each node of the table
    std::map<Rank, std::vector<Rank>> ranks;  // ranks of each numbered node
    for (std::size_t i = 0; i < node_of.size(); ++i) {
        const auto next = static_cast<Rank>(numbers.size());
        const Rank node = numbers.try_emplace(node_of[i], next).first->second;
        const auto rank = static_cast<Rank>(i);
        EXPECT_EQ(layout.node_of(rank), node);
        EXPECT_EQ(layout.local_of(rank), static_cast<Rank>(ranks[node].size()));
        ranks[node].push_back(rank);
    }
    ASSERT_EQ(layout.nodes(), static_cast<Rank>(numbers.size()));
    std::vector<Rank> sizes;
    bool contiguous = true;
    for (const auto& [node, members] : ranks) {
        sizes.push_back(static_cast<Rank>(members.size()));
        EXPECT_EQ(layout.ranks_on(node), sizes.back());
        for (std::size_t i = 0; i < members.size(); ++i)
            EXPECT_EQ(layout.rank_at(node, static_cast<Rank>(i)), members[i]);
        contiguous = contiguous && members.back() - members.front() + 1 == sizes.back();
    }
    EXPECT_EQ(layout.contiguous(), contiguous);
    std::ranges::sort(sizes);
    EXPECT_EQ(layout.least(), sizes.front());
    EXPECT_EQ(layout.most(), sizes.back());
    sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
    EXPECT_EQ(layout.sizes(), sizes);
}

TEST(Layout, ALayoutAgreesWithItsTable) {
    base::Random random(17);
    for (int trial = 0; trial < 400; ++trial) {
        std::vector<Rank> node_of;
        const bool equal_nodes = random.chance(1, 2);
        const std::uint64_t nodes = 1 + random.below(6);
        // Different numbers, neither sorted nor dense.
        for (std::uint64_t node = 0; node < nodes; ++node)
            node_of.insert(node_of.end(), equal_nodes ? 3 : 1 + random.below(4),
                           static_cast<Rank>(7 * node % 11));
        if (trial % 3 == 0)  // ranks of a node are not adjacent
            for (Rank& node : node_of) node = static_cast<Rank>(random.below(nodes));
        expect_agrees(Layout::of(node_of), node_of);
    }
}

TEST(Layout, RanksPerNodeDetermineALayoutOfEqualNodes) {
    for (Rank size = 1; size <= 20; ++size) {
        for (Rank per_node = 1; per_node <= size; ++per_node) {
            std::vector<Rank> node_of;
            for (Rank rank = 0; rank < size; ++rank) node_of.push_back(rank / per_node);
            expect_agrees(Layout(size, per_node), node_of);
            EXPECT_EQ(Layout::of(node_of), Layout(size, per_node));
        }
    }
    const Layout large(1'000'000'000, 64);
    EXPECT_EQ(large.node_of(999'999'999), 15'624'999);
    EXPECT_EQ(large.rank_at(15'624'999, 63), 999'999'999);
}

TEST(Layout, ADefaultLayoutCountsAsNotGiven) {
    EXPECT_FALSE(Layout().is_given());
    EXPECT_TRUE(Layout(3, 1).is_given());
    EXPECT_NE(Layout(4, 1), Layout(4, 2));
}

}  // namespace
}  // namespace weft::plan
