// SPDX-License-Identifier: BSD-3-Clause
// Bug: with a limit of file sizes (ulimit -f) each rank was killed by SIGXFSZ, without a message,
// when it made its segment, which is a file in memory. Method: run jobs with limits below and above
// the size of a segment. Without the fix, the first job ends with status 153, by the signal.
#include <fmt/format.h>

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
const RankFunction kRankFunction("file_size_limit", run_rank);

/// Runs a job with a limit of `blocks` blocks of 512 bytes (POSIX).
Outcome run_limited(const char* blocks) {
    return run_command({"sh", "-c",
                        fmt::format("ulimit -f {}; exec {}/weft run -n 2 -- "
                                    "{}/weft_regress_ranks_test --rank file_size_limit",
                                    blocks, RANK_PROGRAMS, RANK_PROGRAMS)});
}

TEST(FileSizeLimit, ALowLimitIsNamedAndKillsNoRank) {
    const Outcome outcome = run_limited("2000");  // about 1 MB; a segment has hundreds
    EXPECT_EQ(outcome.status, 1) << outcome.errors;
    EXPECT_NE(outcome.errors.find("ulimit -f"), std::string::npos) << outcome.errors;
}

TEST(FileSizeLimit, ALimitLargerThanASegmentIsAccepted) {
    const Outcome outcome = run_limited("16777216");  // 8 GiB
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

}  // namespace
}  // namespace weft::test
