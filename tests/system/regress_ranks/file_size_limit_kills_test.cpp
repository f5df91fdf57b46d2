// SPDX-License-Identifier: BSD-3-Clause
// Bug: under a limit of file sizes (ulimit -f) every rank was killed by SIGXFSZ as it made its
// segment, which is a file in memory, and no message said why. Method: jobs under limits below and
// above the size of a segment. Without the fix, the first job ends by the signal (153).
#include <fmt/format.h>

#include "tests/system/regress_ranks/play.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

int play(const Words&) {
    Runtime runtime;
    if (runtime.world().allreduce(1, Op::sum) != runtime.world().size()) return 3;
    runtime.finalize();
    return 0;
}
const Part kPart("file_size_limit", play);

/// Runs a job under a limit of `blocks` blocks of 512 bytes (POSIX).
Outcome run_limited(const char* blocks) {
    return run_command({"sh", "-c",
                        fmt::format("ulimit -f {}; exec {}/weft run -n 2 -- "
                                    "{}/weft_regress_ranks_test --rank file_size_limit",
                                    blocks, RANK_PROGRAMS, RANK_PROGRAMS)});
}

TEST(FileSizeLimit, ALowLimitIsNamedAndKillsNoRank) {
    const Outcome outcome = run_limited("2000");
    EXPECT_EQ(outcome.status, 1) << outcome.errors;
    EXPECT_NE(outcome.errors.find("ulimit -f"), std::string::npos) << outcome.errors;
}

TEST(FileSizeLimit, ALimitLargerThanASegmentIsAccepted) {
    const Outcome outcome = run_limited("16777216");
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

}  // namespace
}  // namespace weft::test
