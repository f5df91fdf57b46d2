// SPDX-License-Identifier: BSD-3-Clause
// Goal: local costs come from the median of the passes in which the machine is fast, remote costs
// from the median of all passes, costs of own copies from the fastest pass, and times of copies
// from a peer's buffer from the median of each size. flags_differ() is true if latencies of flags
// differ by more than kSameMode.
#include "tools/measure/passes.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::lab {
namespace {

TEST(Passes, LocalCostsComeFromPassesInTheFastMode) {
    // The mode changes during the second pass.
    const std::vector<Pass> passes{{.flags_ns = {240, 230}, .near_ns = 400, .memory_ns = 12},
                                   {.flags_ns = {60, 240}, .near_ns = 150, .memory_ns = 13},
                                   {.flags_ns = {61, 60}, .near_ns = 160, .memory_ns = 11}};
    const ChosenPasses chosen = choose_passes(passes);
    EXPECT_EQ(chosen.near, 1U);
    EXPECT_EQ(chosen.memory, 2U);
    EXPECT_EQ(chosen.flag_min_ns, 60);
    EXPECT_EQ(chosen.flag_max_ns, 240);
    EXPECT_TRUE(chosen.flags_differ());
}

TEST(Passes, TheMedianPassOfTheFastModeIsChosen) {
    const std::vector<Pass> passes{{.near_ns = 1180},
                                   {.near_ns = 4800},
                                   {.near_ns = 1310},
                                   {.near_ns = 1340},
                                   {.near_ns = 5200}};
    EXPECT_EQ(choose_passes(passes).near, 2U);
}

TEST(Passes, RemoteCostsComeFromTheMedianPass) {
    const std::vector<Pass> passes{{.flags_ns = {60}, .near_ns = 150, .far_ns = 9000},
                                   {.flags_ns = {62}, .near_ns = 400, .far_ns = 8000},
                                   {.flags_ns = {60}, .near_ns = 160, .far_ns = 8500}};
    const ChosenPasses chosen = choose_passes(passes);
    EXPECT_EQ(chosen.near, 0U);
    EXPECT_EQ(chosen.far, 2U);
    EXPECT_FALSE(chosen.flags_differ());
}

TEST(Passes, TheLowerOfTwoRemoteCostsIsChosen) {
    const ChosenPasses chosen = choose_passes(std::vector<Pass>{{.far_ns = 8}, {.far_ns = 7}});
    EXPECT_EQ(chosen.far, 1U);
    EXPECT_FALSE(chosen.flags_differ()) << "no flags";
}

TEST(Passes, ASinglePassIsChosen) {
    const ChosenPasses chosen = choose_passes(std::vector<Pass>{{.flags_ns = {60}, .near_ns = 1}});
    EXPECT_EQ(chosen.near, 0U);
    EXPECT_EQ(chosen.far, 0U);
}

TEST(Passes, TheMedianTimeOfEachCopySizeIsUsed) {
    const std::vector<Points> passes{{{1, 10}, {2, 90}}, {{1, 12}, {2, 20}}, {{1, 50}, {2, 22}}};
    const Points middle = middle_points(passes);
    ASSERT_EQ(middle.size(), 2U);
    EXPECT_EQ(middle[0].x, 1);
    EXPECT_EQ(middle[0].y, 12);
    EXPECT_EQ(middle[1].x, 2);
    EXPECT_EQ(middle[1].y, 22);
}

}  // namespace
}  // namespace weft::lab
