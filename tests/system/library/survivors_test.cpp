// SPDX-License-Identifier: BSD-3-Clause
// Goal: a job with `--keep-going` continues after the death of a rank, and other jobs refuse calls
// of survivors. Method: run survivors.c, in which the last rank kills itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

TEST(SurvivorsTest, SurvivorsGoOnAfterADeath) {
    struct Shape {
        int ranks;
        int nodes;
    };
    for (const auto& [ranks, nodes] : {Shape{2, 1}, {4, 1}, {7, 1}, {2, 2}, {4, 2}, {5, 3}}) {
        SCOPED_TRACE(fmt::format("{} ranks on {} nodes", ranks, nodes));
        std::vector<std::string> program{rank_program("survivors")};
        if (nodes > 1) program.emplace_back("nodes");
        const Outcome outcome = run_ranks(
            {"--keep-going", "-n", std::to_string(ranks), "--nodes", std::to_string(nodes)},
            program);
        EXPECT_EQ(outcome.status, 1);  // the number of dead ranks
        EXPECT_EQ(
            outcome.errors,
            fmt::format("weft run: rank {} was killed by signal 9 (Killed); the job continues\n",
                        ranks - 1));
        EXPECT_EQ(outcome.output, fmt::format("{} ranks: the survivors are right\n", ranks));
    }
}

TEST(SurvivorsTest, WithoutSurvivalAgreementIsRefused) {
    const Outcome outcome = run_ranks({"-n", "2"}, {rank_program("survivors"), "ends"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.errors, "");
    EXPECT_EQ(outcome.output, "2 ranks: no rank may die\n");
}

}  // namespace
}  // namespace weft::test
