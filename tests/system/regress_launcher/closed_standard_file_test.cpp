// SPDX-License-Identifier: BSD-3-Clause
// Bug: if standard input, output or error was closed, the launcher's own pipes and sockets got
// these descriptors, and ranks wrote to them. Method: start the launcher with closed standard
// files; ranks print the names of their standard files. In commit 296e588, which lacks the fix, the
// test fails with and without --label.
#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

TEST(ClosedStandardFile, RanksGetTheNullDeviceInstead) {
    for (const char* const closed : {"<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"}) {
        for (const char* const label : {"", "--label "}) {
            const std::string script =
                "-n 2 -- sh -c 'readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2 "
                ">$TMPDIR/rank$PMIX_RANK; echo text; exit $((PMIX_RANK + 3))'";
            const Words command{"sh", "-c",
                                std::string(RANK_PROGRAMS "/weft run ") + label + script + " " +
                                    closed +
                                    "; echo status $?; sort -u $TMPDIR/rank*; rm $TMPDIR/rank*"};
            const Outcome outcome = run_command(command);
            SCOPED_TRACE(std::string(closed) + " " + label + outcome.output);
            EXPECT_TRUE(outcome.output.find("status 3") != std::string::npos ||
                        outcome.output.find("status 4") != std::string::npos);
            EXPECT_EQ(outcome.output.find("anon_inode"), std::string::npos);
            EXPECT_EQ(outcome.output.find("socket"), std::string::npos);
        }
    }
}

TEST(ClosedStandardFile, OutputOfRanksDoesNotReachTheLaunchersFiles) {
    const Outcome outcome = launch(
        "", "-n 2 -- sh -c 'for i in 1 2 3 4 5; do echo some text; echo some text >&2; done'",
        "<&- >&- 2>&-");
    EXPECT_EQ(outcome.status, 0);
}

}  // namespace
}  // namespace weft::test
