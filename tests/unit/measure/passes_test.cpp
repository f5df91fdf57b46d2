// SPDX-License-Identifier: BSD-3-Clause
// Goal: of several passes the costs that count are those of one in the machine's quickest mode,
// each kind by itself, far ones those of the middle pass; and modes are seen.
#include "lab/measure/passes.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::lab {
namespace {

TEST(Passes, EachKindOfNearCostsIsThatOfTheQuickestPass) {
    // The mode changes in the middle of passes.
    const std::vector<Pass> passes{
        {.flags_ns = {240, 230}, .near_ns = 400, .copies_ns = 90, .memory_ns = 12},
        {.flags_ns = {60, 240}, .near_ns = 150, .copies_ns = 250, .memory_ns = 13},
        {.flags_ns = {61, 60}, .near_ns = 160, .copies_ns = 100, .memory_ns = 11}};
    const ChosenPasses chosen = choose_passes(passes);
    EXPECT_EQ(chosen.near, 1U);
    EXPECT_EQ(chosen.copies, 0U);
    EXPECT_EQ(chosen.memory, 2U);
    EXPECT_EQ(chosen.flag_min_ns, 60);
    EXPECT_EQ(chosen.flag_max_ns, 240);
    EXPECT_TRUE(chosen.differ());
}

TEST(Passes, FarCostsAreThoseOfTheMiddlePass) {
    const std::vector<Pass> passes{{.flags_ns = {60}, .near_ns = 150, .far_ns = 9000},
                                   {.flags_ns = {62}, .near_ns = 400, .far_ns = 8000},
                                   {.flags_ns = {60}, .near_ns = 160, .far_ns = 8500}};
    const ChosenPasses chosen = choose_passes(passes);
    EXPECT_EQ(chosen.near, 0U);
    EXPECT_EQ(chosen.far, 2U);
    EXPECT_FALSE(chosen.differ());
}

TEST(Passes, OfTwoFarCostsTheLesserOneCounts) {
    const ChosenPasses chosen = choose_passes(std::vector<Pass>{{.far_ns = 8}, {.far_ns = 7}});
    EXPECT_EQ(chosen.far, 1U);
    EXPECT_FALSE(chosen.differ()) << "no flags";
}

TEST(Passes, OneIsTaken) {
    const ChosenPasses chosen = choose_passes(std::vector<Pass>{{.flags_ns = {60}, .near_ns = 1}});
    EXPECT_EQ(chosen.near, 0U);
    EXPECT_EQ(chosen.far, 0U);
}

}  // namespace
}  // namespace weft::lab
