// SPDX-License-Identifier: BSD-3-Clause
// Bug: signals that the launcher's parent had set to be ignored (nohup, background jobs of scripts)
// ended the job. If SIGCHLD was ignored, the launcher did not detect the end of ranks, and spun.
// Method: start the launcher with ignored signals, by trap '' and env --ignore-signal. In commit
// 296e588, which lacks the fix, all tests fail.
#include <signal.h>

#include <chrono>
#include <fstream>

#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

constexpr const char* kIgnoreAll = "trap '' HUP INT QUIT TERM USR1 USR2 XCPU TSTP;";

TEST(IgnoredSignal, TheLauncherKeepsIgnoringTheSignal) {
    RunningProgram running(
        launch_command(kIgnoreAll, "-n 2 -- sh -c 'echo started; sleep 1; echo ended'"));
    ASSERT_TRUE(running.wait_for_output("started\nstarted\n"));
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGTSTP})
        running.send(signal);
    const Outcome outcome = running.wait();
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.output, "started\nstarted\nended\nended\n");
}

/// Returns the bit mask of ignored signals from the text of /proc/PID/status, without real-time
/// signals.
unsigned long ignored_in(const std::string& status) {
    const std::size_t at = status.find("SigIgn:");
    EXPECT_NE(at, std::string::npos);
    return std::stoul(status.substr(at + 7), nullptr, 16) & 0x7fff'ffff;
}

TEST(IgnoredSignal, RanksKeepIgnoringTheSignal) {
    const auto ignored = [](const std::string& before) {
        return ignored_in(launch(before, "-n 1 -- grep SigIgn /proc/self/status").output);
    };
    const unsigned long always = ignored("");  // ignored without a trap
    for (const int signal : {SIGHUP, SIGPIPE, SIGXFSZ}) {
        const std::string trap = "trap '' " + std::to_string(signal) + ";";
        EXPECT_EQ(ignored(trap), always | 1UL << (signal - 1));
    }
}

TEST(IgnoredSignal, EndsOfRanksAreDetectedIfSigchldIsIgnored) {
    const Words command{"env",
                        "--ignore-signal=CHLD",
                        RANK_PROGRAMS "/weft",
                        "run",
                        "-n",
                        "2",
                        "--timeout",
                        "10",
                        "--",
                        "sh",
                        "-c",
                        "exit $PMIX_RANK"};
    const Outcome outcome = run_command(command);
    expect_end(outcome, 1, "weft run: rank 1 exited with status 1\n");
}

}  // namespace
}  // namespace weft::test
