// SPDX-License-Identifier: BSD-3-Clause
// Goal: of several passes near costs are those of one in a slow mode that is not rare, far ones
// those of the middle one, each as a whole, and modes are seen.
#include "lab/measure/passes.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::lab {
namespace {

TEST(Passes, NearCostsAreOfASlowModeThatIsNotRare) {
    const std::vector<Pass> passes{{.flags_ns = {240, 230}, .near_ns = 400},
                                   {.flags_ns = {60, 61}, .near_ns = 150},
                                   {.flags_ns = {60, 240}, .near_ns = 155},
                                   {.flags_ns = {180, 181}, .near_ns = 410},
                                   {.flags_ns = {61, 60}, .near_ns = 160}};
    const ChosenPasses chosen = choose_passes(passes);
    EXPECT_EQ(chosen.near, 0U);
    EXPECT_EQ(chosen.flag_min_ns, 60);
    EXPECT_EQ(chosen.flag_max_ns, 240);
    EXPECT_TRUE(chosen.differ());
}

TEST(Passes, ARareModeDoesNotCount) {
    const std::vector<Pass> passes{{.flags_ns = {60, 62}, .near_ns = 170},
                                   {.flags_ns = {66, 61}, .near_ns = 150},
                                   {.flags_ns = {61, 60}, .near_ns = 1600}};
    const ChosenPasses chosen = choose_passes(passes);
    EXPECT_EQ(chosen.near, 0U);
    EXPECT_FALSE(chosen.differ());
}

TEST(Passes, FarCostsHaveAMiddleOfTheirOwn) {
    const std::vector<Pass> passes{{.flags_ns = {60}, .near_ns = 150, .far_ns = 9000},
                                   {.flags_ns = {240}, .near_ns = 400, .far_ns = 8000},
                                   {.flags_ns = {60}, .near_ns = 160, .far_ns = 8500}};
    const ChosenPasses chosen = choose_passes(passes);
    EXPECT_EQ(chosen.near, 2U);
    EXPECT_EQ(chosen.far, 2U);
}

TEST(Passes, OfTwoTheLesserCostCounts) {
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
