// SPDX-License-Identifier: BSD-3-Clause
// Bug: each rank registered its whole segment with the network: 450 MB, of which few are used, but
// which hardware would pin. Method: read the sizes of the segment and of the registered memory in
// the log of a job over a network. Without the fix, the log has no such line.
#include <cstdio>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

int run_rank(const Words&) {
    Runtime runtime;
    if (runtime.world().allreduce(1, Op::sum) != runtime.world().size()) return 3;
    runtime.finalize();
    return 0;
}
const RankFunction kRankFunction("whole_segment", run_rank);

TEST(WholeSegment, OnlyPartOfTheSegmentIsRegistered) {
    const Outcome outcome =
        run_function({"-n", "2", "--nodes", "2"}, "whole_segment", {}, {"WEFT_LOG=info"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    int segment = 0;  // both in MiB
    int registered = 0;
    const std::size_t at = outcome.errors.find("memory of each rank: ");
    ASSERT_NE(at, std::string::npos) << outcome.errors;
    std::sscanf(outcome.errors.c_str() + at, "memory of each rank: %d MiB", &segment);
    const std::size_t end = outcome.errors.find(" MiB are registered", at);
    ASSERT_NE(end, std::string::npos) << outcome.errors;
    std::sscanf(outcome.errors.c_str() + outcome.errors.rfind(' ', end - 1), " %d", &registered);
    EXPECT_GT(segment, 400);
    EXPECT_GT(registered, 0);
    EXPECT_LE(15 * registered, segment);  // at most a 15th is registered
}

}  // namespace
}  // namespace weft::test
