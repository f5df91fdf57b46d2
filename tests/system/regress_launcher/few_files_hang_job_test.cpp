// SPDX-License-Identifier: BSD-3-Clause
// Bug: with a limit of 20 open files, the check at the start of `weft run -n 2` passed. Then the
// PMIx server closed the connection of a rank, and the job hung. Method: with each limit from 14 to
// 44, the job must either run or be refused. In commit 9d518da, which lacks the fix, jobs with
// limits of 20 and 21 end by their timeout, with status 124.
#include <fmt/format.h>

#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

/// The parameter is an option of `weft run`.
class FewFilesHangJob : public testing::TestWithParam<const char*> {};

TEST_P(FewFilesHangJob, JobRunsOrIsRefusedUnderEveryLimit) {
    // For 2 ranks, check_free_files() requires 26 files, 30 with --label. Up to 14 are inherited.
    constexpr int kTooFew = 14;
    constexpr int kEnough = 30 + 14;
    constexpr int kRefused = 3;  // exit status
    for (int limit = kTooFew; limit <= kEnough; ++limit) {
        SCOPED_TRACE(limit);
        const Outcome outcome =
            launch(fmt::format("ulimit -n {};", limit),
                   fmt::format("{} -n 2 --timeout 20 -- {}", GetParam(), rank_program("hello")));
        if (outcome.status == 0) {
            EXPECT_GT(limit, kTooFew);
            continue;
        }
        EXPECT_EQ(outcome.status, kRefused) << outcome.errors;
        EXPECT_NE(outcome.errors.find(fmt::format("the limit of {} leaves", limit)),
                  std::string::npos)
            << outcome.errors;
        EXPECT_LT(limit, kEnough);
    }
}

INSTANTIATE_TEST_SUITE_P(Output, FewFilesHangJob, testing::Values("", "--label"));

}  // namespace
}  // namespace weft::test
