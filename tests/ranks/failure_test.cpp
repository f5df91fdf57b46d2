// SPDX-License-Identifier: BSD-3-Clause
// Goal: unusable arguments are refused and harm nothing; a rank that is killed ends the job and
// leaves nothing behind. Method: launch bad_arguments.cpp and rank_dies.cpp.
#include <gtest/gtest.h>

#include "tests/ranks/leftovers.hpp"
#include "tests/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

class FailureTest : public testing::TestWithParam<Words> {};

TEST_P(FailureTest, BadArgumentsAreRefusedAndTheTeamWorksOn) {
    const Outcome outcome = run_ranks(GetParam(), {rank_program("bad_arguments")});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.errors, "");
}

TEST_P(FailureTest, AKilledRankEndsTheJobAndNothingIsLeft) {
    const std::set<std::string> before = shared_files();
    const Outcome outcome = run_ranks(GetParam(), {rank_program("rank_dies")});
    EXPECT_EQ(outcome.status, 128 + 9);
    EXPECT_NE(outcome.errors.find(" was killed by signal 9"), std::string::npos) << outcome.errors;
    EXPECT_LT(outcome.seconds, 10);
    EXPECT_EQ(new_shared_files(before), std::set<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Layouts, FailureTest,
                         testing::Values(Words{"-n", "1"}, Words{"-n", "2"}, Words{"-n", "5"},
                                         Words{"-n", "4", "--nodes", "4"},
                                         Words{"--layout", "3,1"}),
                         [](const auto& chosen) {
                             std::string name;
                             for (const std::string& word : chosen.param) name += as_name(word);
                             return name;
                         });

}  // namespace
}  // namespace weft::test
