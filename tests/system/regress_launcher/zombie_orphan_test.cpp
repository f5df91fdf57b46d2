// SPDX-License-Identifier: BSD-3-Clause
// Bug: processes that ranks started and did not wait for became children of the launcher, and were
// zombies until the job ended. Method: a rank leaves 100 processes that end at once. Within 2 s,
// the launcher must have no zombie child. In commit 296e588, which lacks the fix, the zombies
// remain.
#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

TEST(ZombieOrphan, OrphansAreReapedWhileTheJobRuns) {
    const Outcome outcome = launch(
        "",
        "-n 1 -- sh -c 'i=0; while [ $i -lt 100 ]; do (true &); i=$((i+1)); done; "
        "for try in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2; "
        "cat /proc/[0-9]*/stat 2>/dev/null | grep -c \") Z $PPID \" && continue; exit 0; done; "
        "exit 1'");
    EXPECT_EQ(outcome.status, 0) << outcome.output;
}

}  // namespace
}  // namespace weft::test
