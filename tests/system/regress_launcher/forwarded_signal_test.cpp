// SPDX-License-Identifier: BSD-3-Clause
// Bug: SIGUSR1 and SIGUSR2, by which batch systems announce the end of a job, killed the launcher.
// SIGTSTP stopped the launcher, but not its ranks. Method: ranks print the signals that they get.
// In commit 296e588, which lacks the fix, all tests fail.
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/clock.hpp"
#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

/// Returns the state of a process as the letter in /proc, or '?' if it has ended.
char state_of(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    return name_end == std::string::npos ? '?' : text[name_end + 2];
}

/// Returns true if all processes of the job except the guardian are stopped.
bool all_stopped(const std::vector<pid_t>& processes) {
    for (const pid_t pid : processes) {
        std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
        std::string name;
        std::getline(file, name);
        if (name == "weft-guardian") continue;
        if (state_of(pid) != 'T') return false;
    }
    return processes.size() >= 4;  // the launcher, its guardian, the ranks
}

bool wait_until_stopped(const RunningProgram& running) {
    const std::uint64_t deadline = base::monotonic_ns() + 10'000'000'000;
    while (!all_stopped(running.processes())) {
        if (base::monotonic_ns() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

TEST(ForwardedSignal, TheSignalReachesTheRanksAndNotTheLauncher) {
    // The ranks wait without a child, which would get the signal, too: they read from a pipe
    // without data. The loop has no substitution, because bash fails if a trap runs while it parses
    // one.
    RunningProgram running(
        launch_command("",
                       "-n 2 -- bash -c 'trap \"echo one\" USR1; trap \"echo two; exit 0\" USR2; "
                       "exec 3<> <(:); echo ready; while :; do read -t 0.05 <&3; done'"));
    ASSERT_TRUE(running.wait_for_output("ready\nready\n"));
    running.send(SIGUSR1);
    ASSERT_TRUE(running.wait_for_output("one\none\n"));
    running.send(SIGUSR2);
    const Outcome outcome = running.wait();
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.output, "ready\nready\none\none\ntwo\ntwo\n");
}

TEST(ForwardedSignal, AStopSignalStopsTheJobAndItsTimeout) {
    RunningProgram running(
        launch_command("", "-n 2 --timeout 2 -- sh -c 'echo ready; exec sleep 1'"));
    ASSERT_TRUE(running.wait_for_output("ready\nready\n"));
    running.send(SIGTSTP);
    ASSERT_TRUE(wait_until_stopped(running));
    std::this_thread::sleep_for(std::chrono::milliseconds(2200));  // longer than the timeout
    running.send(SIGCONT);
    // The ranks were stopped for longer than their sleep, so they end at once.
    const Outcome outcome = running.wait();
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

}  // namespace
}  // namespace weft::test
