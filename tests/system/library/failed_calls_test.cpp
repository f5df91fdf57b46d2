// SPDX-License-Identifier: BSD-3-Clause
// Goal: failures reach all ranks and all copies of a future, and destructors do not wait. Method:
// run failed_futures.cpp, abandoned_memory.cpp and exact_memory.cpp, which describe the bugs.
#include <gtest/gtest.h>

#include "tests/support/full_mode.hpp"
#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

TEST(FailedCalls, AllCopiesOfAFutureReportTheFailureEachTime) {
    const Outcome outcome =
        run_ranks({"--keep-going", "-n", "3"}, {rank_program("failed_futures")});
    EXPECT_EQ(outcome.status, 1) << outcome.errors;  // the number of dead ranks
    EXPECT_EQ(outcome.errors,
              "weft run: rank 2 was killed by signal 9 (Killed); the job continues\n");
}

TEST(FailedCalls, DestructorsDoNotWaitForAllocations) {
    const Outcome outcome = run_ranks({"-n", "2"}, {rank_program("abandoned_memory")},
                                      {"WEFT_THREADS=multiple", "WEFT_HEAP_SIZE=64M"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.errors, "");
}

TEST(FailedCalls, ExactSumsWithoutMemoryFailOnAllRanks) {
    if (kSanitized) GTEST_SKIP() << "a sanitizer maps terabytes";
    const Outcome outcome =
        run_ranks({"-n", "3"}, {rank_program("exact_memory")}, {"WEFT_LOG=info"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_NE(outcome.errors.find("for exact_sum"), std::string::npos) << outcome.errors;
    EXPECT_EQ(outcome.errors.find("double with exact_sum"), std::string::npos) << outcome.errors;
}

}  // namespace
}  // namespace weft::test
