// SPDX-License-Identifier: BSD-3-Clause
// Bug: `weft run` exited with 1 after a rank had aborted the job with status 0, so
// shmem_global_exit(0) failed a job that had succeeded. Method: abort with several statuses, each
// five times, because the launcher may detect the rank's end before it reads the rank's request to
// abort. In commit 9d518da, which lacks the fix, an abort with status 0 gives status 1.
#include <fmt/format.h>

#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

TEST(StatusOfAbort, TheJobEndsWithTheStatusOfAbort) {
    for (const int status : {0, 1, 3, 255}) {
        for (int round = 0; round < 5; ++round) {
            const Outcome outcome =
                run_ranks({"-n", "2"}, {CLIENT_PROGRAM, "abort", "0", fmt::to_string(status)});
            EXPECT_EQ(outcome.status, status) << outcome.errors;
            EXPECT_NE(outcome.errors.find(fmt::format("aborted the job with status {}", status)),
                      std::string::npos)
                << outcome.errors;
        }
    }
}

}  // namespace
}  // namespace weft::test
