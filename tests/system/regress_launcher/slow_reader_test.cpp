// SPDX-License-Identifier: BSD-3-Clause
// Bug: with --label the launcher wrote the output of ranks in its event loop, where it waited for a
// slow reader. This delayed timeouts and signals. Method: the output of the job is a pipe that is
// not read until the job has ended. In commit 296e588, which lacks the fix, the first two tests
// hang.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "base/clock.hpp"
#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

/// A pipe for the output of a job.
struct Pipe {
    Pipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
    ~Pipe() {
        ::close(ends[0]);
        close_writer();
    }
    /// Returns a redirection to the pipe, and lets processes that start later inherit the pipe.
    [[nodiscard]] std::string redirection() const {
        ::fcntl(ends[1], F_SETFD, 0);
        return fmt::format(">&{0} {0}>&-", ends[1]);
    }
    void close_writer() {
        if (ends[1] >= 0) ::close(std::exchange(ends[1], -1));
    }
    int ends[2];  ///< to read and to write; -1: closed
};

TEST(SlowReader, TimeoutEndsAJobWithBlockedOutput) {
    const Pipe pipe;
    const Outcome outcome = launch("", "-n 2 --label --timeout 0.5 -- yes", pipe.redirection());
    expect_end(outcome, 124, "weft run: the job did not end within 0.5 s\n");
    EXPECT_LT(outcome.seconds, 5);
}

TEST(SlowReader, SignalsEndAJobWithBlockedOutput) {
    const Pipe pipe;
    RunningProgram running(launch_command("", "-n 2 --label -- yes", pipe.redirection()));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // until the pipe is full
    running.send(SIGTERM);
    EXPECT_EQ(running.wait().status, 128 + SIGTERM);
    EXPECT_TRUE(running.nothing_left());
}

/// The reader starts after 6 s, and then must get all lines of a rank that has failed.
TEST(SlowReader, TheReaderGetsEveryLineOfAFailedRank) {
    const Outcome outcome = run_command(
        {"sh", "-c",
         RANK_PROGRAMS "/weft run --label -n 1 -- sh -c 'seq 15000; exit 7' | (sleep 6; wc -l)"});
    EXPECT_EQ(outcome.output, "15000\n");
}

TEST(SlowReader, TheReaderGetsEveryLineAfterADelay) {
    Pipe pipe;
    const int lines = 100'000;
    RunningProgram running(
        launch_command("", fmt::format("-n 1 --label -- seq {}", lines), pipe.redirection()));
    pipe.close_writer();
    std::string text;
    char buffer[65536];
    for (ssize_t count; (count = ::read(pipe.ends[0], buffer, sizeof buffer)) > 0;) {
        if (text.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(300));
        text.append(buffer, static_cast<std::size_t>(count));
    }
    EXPECT_EQ(running.wait().status, 0);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), lines);
    EXPECT_TRUE(text.ends_with(fmt::format("[0] {}\n", lines)));
}

}  // namespace
}  // namespace weft::test
