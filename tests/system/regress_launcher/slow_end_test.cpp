// SPDX-License-Identifier: BSD-3-Clause
// Bug: when a rank failed, the launcher waited in its event loop for each other rank that had begun
// to exit. A rank that exits slowly (much memory to free, a thread that still runs) delayed
// signals, timeouts and the job's end. Method: rank 0 fails while the first thread of rank 1 has
// ended and another one runs (two_threads.cpp). In commit 296e588, which lacks the fix, the test
// hangs. Rank 0 fails after 0.5 s, which is long enough for rank 1's first thread to end.
#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

TEST(SlowEnd, OneSlowRankDoesNotDelayTheEndOfTheJob) {
    const std::string program =
        "if [ $PMIX_RANK = 0 ]; then sleep 0.5; exit 7; fi; exec " RANK_PROGRAMS
        "/weft_two_threads";
    const Outcome outcome =
        run_command(weft_run({"-n", "2", "--timeout", "8"}, {"sh", "-c", program}));
    expect_end(outcome, 7, "weft run: rank 0 exited with status 7\n");
    EXPECT_LT(outcome.seconds, 5);
}

}  // namespace
}  // namespace weft::test
