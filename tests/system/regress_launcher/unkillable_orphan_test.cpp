// SPDX-License-Identifier: BSD-3-Clause
// Bug: the launcher waited forever for the end of processes to which it had sent SIGKILL. It lacks
// the permission to kill a process that runs as another user, for example under sudo, so neither a
// signal nor --timeout ended the job. Method: the launcher runs as root without CAP_KILL. A rank,
// or a process that a rank leaves behind, runs as user 65534. In commit 296e588, which lacks the
// fix, both tests hang.
#include <signal.h>
#include <unistd.h>

#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

const std::string kLauncher = "setpriv --bounding-set=-kill " RANK_PROGRAMS "/weft run ";
const std::string kSleepAsAnotherUser = "setpriv --reuid 65534 --clear-groups sleep 60";

class UnkillableOrphan : public ::testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "needs root, to start processes of another user";
    }
    /// Runs the job, then kills the processes that the launcher could not kill.
    static Outcome launch(const std::string& arguments) {
        RunningProgram program({"sh", "-c", "exec " + kLauncher + arguments});
        const Outcome outcome = program.wait();
        for (const pid_t left : program.processes()) ::kill(left, SIGKILL);
        EXPECT_TRUE(program.nothing_left());
        return outcome;
    }
};

TEST_F(UnkillableOrphan, AnOrphanOfAnotherUserIsNamedAndLeftRunning) {
    const Outcome outcome =
        launch("-n 1 -- sh -c '" + kSleepAsAnotherUser + " > /dev/null 2> /dev/null & sleep 0.5'");
    expect_end(outcome, 0,
               ", started by a rank, cannot be killed: it now belongs to another user\n");
    EXPECT_LT(outcome.seconds, 10);
}

TEST_F(UnkillableOrphan, ARankOfAnotherUserIsNamedAndLeftRunning) {
    const Outcome outcome = launch("-n 1 --timeout 1 -- " + kSleepAsAnotherUser);
    expect_end(outcome, 124, "weft run: the job did not end within 1 s\n");
    expect_end(outcome, 124, ") cannot be killed: it now belongs to another user\n");
    EXPECT_LT(outcome.seconds, 15);
}

}  // namespace
}  // namespace weft::test
