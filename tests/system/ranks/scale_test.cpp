// SPDX-License-Identifier: BSD-3-Clause
// scale_test.cpp - jobs of many ranks start, make calls and end, also by a signal.
//
// Goal: resources that a job needs for each rank (files, threads, addresses, connections) suffice,
// and the job ends before a deadline. Method: jobs of 16 ranks on one node and of 8 ranks on four
// virtual nodes; in the long form 128 ranks, and 32 ranks on sixteen nodes. Ranks check their sums.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/system/ranks/leftovers.hpp"
#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

/// Size of a job.
struct Size {
    int ranks = 0;
    int nodes = 0;  ///< 0: one node
};

std::vector<Size> sizes() {
    if (long_forms()) return {{128, 0}, {32, 16}};
    return {{16, 0}, {8, 4}};
}

Words options_for(const Size& size) {
    Words options{"-n", std::to_string(size.ranks)};
    if (size.nodes > 0) options.insert(options.end(), {"--nodes", std::to_string(size.nodes)});
    return options;
}

TEST(ScaleTest, ManyRanksCompleteACallAndEnd) {
    for (const Size& size : sizes()) {
        const std::set<std::string> before = shared_files();
        const Outcome outcome = run_ranks(options_for(size), {rank_program("stuck")});
        fmt::print("{} ranks, {} nodes: {:.2f} s from launch to end\n", size.ranks,
                   std::max(size.nodes, 1), outcome.seconds);
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_EQ(outcome.errors, "");
        EXPECT_EQ(lines_like(outcome.output, "rank [0-9]+ has ended").size(),
                  static_cast<std::size_t>(size.ranks));
        EXPECT_EQ(new_shared_files(before), std::set<std::string>{});
    }
}

TEST(ScaleTest, EachOfManyRanksReportsItsWaitBeforeItIsKilled) {
    for (const Size& size : sizes()) {
        // Rank 2 sleeps, so all others wait for it, directly or not.
        RunningProgram job(weft_run(options_for(size), {rank_program("stuck"), "sleep", "2"}), {},
                           launch_deadline_s());
        ASSERT_TRUE(job.wait_for_output("stuck"));
        job.send(SIGTERM);
        const Outcome outcome = job.wait();
        EXPECT_EQ(outcome.status, 128 + SIGTERM);
        EXPECT_EQ(lines_like(outcome.errors, waiting_line("[0-9]+", "[0-9]+")).size(),
                  static_cast<std::size_t>(size.ranks - 1))
            << outcome.errors;
        EXPECT_EQ(
            lines_like(outcome.errors, "weft: rank 2: in the application, outside any weft call")
                .size(),
            1U);
        EXPECT_TRUE(job.processes().empty());
        EXPECT_TRUE(job.files().empty());
    }
}

}  // namespace
}  // namespace weft::test
