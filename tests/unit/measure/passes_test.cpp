// SPDX-License-Identifier: BSD-3-Clause
// Goal: of several passes the costs are those of one in the machine's quickest mode, each as a
// whole, near and far apart.
#include "lab/measure/passes.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::lab {
namespace {

TEST(Passes, NearCostsAreOfTheQuickestMode) {
    // The second pass has the least cost, as some of it was measured before the mode changed.
    const std::vector<Pass> passes{{.flags_ns = {240, 230}, .near_ns = 400},
                                   {.flags_ns = {60, 240}, .near_ns = 150},
                                   {.flags_ns = {61, 60}, .near_ns = 160},
                                   {.flags_ns = {180, 181}, .near_ns = 300}};
    const ChosenPasses chosen = choose_passes(passes);
    EXPECT_EQ(chosen.near, 2U);
    EXPECT_EQ(chosen.flag_min_ns, 60);
    EXPECT_EQ(chosen.flag_max_ns, 240);
    EXPECT_TRUE(chosen.differ());
}

TEST(Passes, OfOneModeTheLeastCostCounts) {
    const std::vector<Pass> passes{{.flags_ns = {60, 62}, .near_ns = 170},
                                   {.flags_ns = {66, 61}, .near_ns = 150},
                                   {.flags_ns = {61, 60}, .near_ns = 160}};
    const ChosenPasses chosen = choose_passes(passes);
    EXPECT_EQ(chosen.near, 1U);
    EXPECT_FALSE(chosen.differ());
}

TEST(Passes, FarCostsAreTheLeastWhateverTheMode) {
    const std::vector<Pass> passes{{.flags_ns = {60}, .near_ns = 150, .far_ns = 9000},
                                   {.flags_ns = {240}, .near_ns = 400, .far_ns = 8000},
                                   {.flags_ns = {60}, .near_ns = 160, .far_ns = 8500}};
    const ChosenPasses chosen = choose_passes(passes);
    EXPECT_EQ(chosen.near, 0U);
    EXPECT_EQ(chosen.far, 1U);
}

TEST(Passes, WithoutFlagsTheLeastCostCounts) {
    const std::vector<Pass> passes{{.near_ns = 12, .far_ns = 7}, {.near_ns = 11, .far_ns = 8}};
    const ChosenPasses chosen = choose_passes(passes);
    EXPECT_EQ(chosen.near, 1U);
    EXPECT_EQ(chosen.far, 0U);
    EXPECT_FALSE(chosen.differ());
}

TEST(Passes, OneIsTaken) {
    const ChosenPasses chosen = choose_passes(std::vector<Pass>{{.flags_ns = {60}, .near_ns = 1}});
    EXPECT_EQ(chosen.near, 0U);
    EXPECT_EQ(chosen.far, 0U);
}

}  // namespace
}  // namespace weft::lab
