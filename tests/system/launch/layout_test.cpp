// SPDX-License-Identifier: BSD-3-Clause
// Goal: lists of ranks in messages use ranges, and options give the right layouts.
#include "tools/launch/layout.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::tools {
namespace {

TEST(RankList, OnlyThreeOrMoreConsecutiveRanksFormARange) {
    const struct {
        std::vector<Rank> ranks;
        std::string text;
    } cases[] = {
        {{3}, "rank 3"},
        {{2, 3}, "ranks 2, 3"},
        {{2, 3, 4}, "ranks 2-4"},
        {{0, 2}, "ranks 0, 2"},
        {{0, 2, 3, 4, 5, 7}, "ranks 0, 2-5, 7"},
        {{0, 1, 4, 5, 9, 10, 11}, "ranks 0, 1, 4, 5, 9-11"},
    };
    for (const auto& [ranks, text] : cases) EXPECT_EQ(rank_list(ranks), text);
}

TEST(Layout, OptionsGiveTheRanksOfEachNode) {
    EXPECT_EQ(spread_over_nodes(7, 3).value(), (std::vector<Rank>{3, 2, 2}));
    EXPECT_EQ(parse_layout("3,1,4").value(), (std::vector<Rank>{3, 1, 4}));
    EXPECT_EQ(parse_layout("18x3,2").value(), (std::vector<Rank>{18, 18, 18, 2}));
    for (const char* wrong : {"18x", "18x0", "x3", "18x3x2", "18x-1", "2x99999999"})
        EXPECT_FALSE(parse_layout(wrong).ok()) << wrong;
    EXPECT_EQ(node_of_ranks({3, 1, 2}), (std::vector<Rank>{0, 0, 0, 1, 2, 2}));
}

}  // namespace
}  // namespace weft::tools
