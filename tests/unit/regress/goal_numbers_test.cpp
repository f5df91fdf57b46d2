// SPDX-License-Identifier: BSD-3-Clause
// Bug: a second num_ranks in a GOAL text made ranks write beyond the array of clocks, sums of times
// wrapped to wrong results, and num_ranks alone allocated a clock for each rank. Method: such texts
// are refused with a message, and ranks without operations need no memory.
#include <gtest/gtest.h>

#include <string>

#include "tools/simulate/goal.hpp"
#include "tools/simulate/wire_model.hpp"

namespace weft::lab {
namespace {

MessageModel model_of(std::int64_t byte_fs) {
    return message_model({.latency = 500'000, .issue = 100'000, .byte_fs = byte_fs});
}

void expect_refused(const std::string& text, const char* words, std::int64_t byte_fs = 400'000) {
    const auto refused = simulate_goal(text, model_of(byte_fs));
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_NE(refused.failure().text.find(words), std::string::npos) << refused.failure().text;
}

TEST(GoalNumbers, ASecondNumberOfRanksIsRefused) {
    expect_refused("num_ranks 1\nnum_ranks 5000000\nrank 4999999 {\ncalc 1\n}\n",
                   "line 2: num_ranks is given twice");
    expect_refused("num_ranks 5000000\nrank 4999999 {\ncalc 1\n}\nnum_ranks 1\n",
                   "line 5: num_ranks is given twice");
}

TEST(GoalNumbers, AnUnmatchedClosingBraceIsRefused) {
    expect_refused("num_ranks 2\nrank 0 {\ncalc 1\n}\n}\n", "line 5: '}' is outside a rank block");
}

TEST(GoalNumbers, ZeroRanksAreRefused) {
    expect_refused("num_ranks 0\n", "line 1: expected num_ranks of 1 or more");
}

TEST(GoalNumbers, SumsOfTimesThatOverflowAreRefused) {
    std::string text = "num_ranks 1\nrank 0 {\n";
    for (int i = 0; i < 10'000; ++i) text += "calc 1000000000000\n";
    expect_refused(text + "}\n", "rank 0 computes and sends beyond the range of the clock");
}

TEST(GoalNumbers, AMessageTimeThatOverflowsIsRefused) {
    expect_refused("num_ranks 2\nrank 0 {\nsend 1000000000000b to 1 tag 0\n}\nrank 1 {\n}\n",
                   "rank 0 computes and sends beyond the range of the clock", 1'000'000'000'000);
}

TEST(GoalNumbers, RanksWithoutOperationsNeedNoMemory) {
    const auto outcome =
        simulate_goal("num_ranks 2147483647\nrank 2147483646 {\ncalc 7\n}\n", model_of(400'000));
    ASSERT_TRUE(outcome.ok()) << outcome.failure().text;
    EXPECT_EQ(outcome->makespan, 7000);
    EXPECT_EQ(outcome->earliest_finish, 0);
}

}  // namespace
}  // namespace weft::lab
