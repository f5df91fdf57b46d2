// SPDX-License-Identifier: BSD-3-Clause
// Goal: a job with `--keep-going` continues after the death of a rank, and other jobs refuse calls
// of survivors. Method: run survivors.c, in which the last rank kills itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

TEST(SurvivorsTest, SurvivorsGoOnAfterADeath) {
    for (const int ranks : {2, 4, 7}) {
        SCOPED_TRACE(ranks);
        const Outcome outcome =
            run_ranks({"--keep-going", "-n", std::to_string(ranks)}, {rank_program("survivors")});
        EXPECT_EQ(outcome.status, 1);  // the number of dead ranks
        EXPECT_EQ(
            outcome.errors,
            fmt::format("weft run: rank {} was killed by signal 9 (Killed); the job continues\n",
                        ranks - 1));
        EXPECT_EQ(outcome.output, fmt::format("{} ranks: the survivors are right\n", ranks));
    }
}

TEST(SurvivorsTest, JobsOfSeveralNodesAreRefused) {
    const Outcome outcome =
        run_ranks({"--keep-going", "-n", "2", "--nodes", "2"}, {rank_program("survivors")});
    EXPECT_EQ(outcome.status, 2);  // the number of ranks that failed
    EXPECT_NE(outcome.errors.find("needs all ranks on one node, but the job has 2 nodes"),
              std::string::npos)
        << outcome.errors;
}

TEST(SurvivorsTest, WithoutSurvivalAgreementIsRefused) {
    const Outcome outcome = run_ranks({"-n", "2"}, {rank_program("survivors"), "ends"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.errors, "");
    EXPECT_EQ(outcome.output, "2 ranks: no rank may die\n");
}

}  // namespace
}  // namespace weft::test
