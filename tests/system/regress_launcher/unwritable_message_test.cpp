// SPDX-License-Identifier: BSD-3-Clause
// Bug: a message that the launcher could not write caused an exception. The launcher aborted with
// status 134 instead of the job's status, and killed the ranks without the two seconds in which
// they report. If stderr was a full pipe that no process reads, the launcher waited forever.
// Method: stderr is closed, a full disk, a closed terminal, a full pipe, or a file that must not
// grow. In commit 296e588, which lacks the fix, all tests fail; with a closed stderr only with
// --label.
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

/// Rank 1 fails with status 7.
const char* const kFails = "-n 2 -- sh -c 'test $PMIX_RANK = 1 && exit 7; sleep 60'";
const char* const kNeverEnds = "-n 2 --timeout 0.3 -- sleep 60";
/// Rank 1 fails. Rank 0, when it gets SIGTERM, reports to standard output after 0.3 s.
const char* const kReports =
    "-n 2 -- sh -c 'test $PMIX_RANK = 1 && sleep 0.3 && exit 7; "
    "trap \"sleep 0.3; echo reported; exit\" TERM; while :; do sleep 0.05; done'";

/// Checks that the launcher keeps the statuses of jobs with this redirection of stderr.
void expect_statuses(const std::string& redirection) {
    EXPECT_EQ(launch("", kFails, redirection).status, 7);
    EXPECT_EQ(launch("", std::string("--label ") + kFails, redirection).status, 7);
    EXPECT_EQ(launch("", kNeverEnds, redirection).status, 124);
    const Outcome reported = launch("", kReports, redirection);
    EXPECT_EQ(reported.status, 7);
    EXPECT_EQ(reported.output, "reported\n") << "killed before its report";
}

TEST(UnwritableMessage, ClosedStandardErrorKeepsStatuses) {
    expect_statuses("2>&-");
}

TEST(UnwritableMessage, FullDiskKeepsStatuses) {
    expect_statuses("2>/dev/full");
}

TEST(UnwritableMessage, HungUpTerminalKeepsStatuses) {
    const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_GE(master, 0);
    ASSERT_TRUE(::grantpt(master) == 0 && ::unlockpt(master) == 0);
    const int slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
    ASSERT_GE(slave, 0);
    ::close(master);
    expect_statuses(fmt::format("2>&{0} {0}>&-", slave));
    ::close(slave);
}

TEST(UnwritableMessage, FullPipeKeepsStatuses) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    const std::string text(4096, 'x');
    while (::write(ends[1], text.data(), text.size()) > 0) {
    }
    ::fcntl(ends[1], F_SETFL, 0);
    const std::string redirection = fmt::format("2>&{0} {0}>&-", ends[1]);
    EXPECT_EQ(launch("", kFails, redirection).status, 7);
    EXPECT_EQ(launch("", kNeverEnds, redirection).status, 124);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST(UnwritableMessage, FileSizeLimitKeepsStatuses) {
    // Without the fix, SIGXFSZ ends the launcher and the job: status 153.
    const char* const file = "2>$TMPDIR/messages; status=$?; rm $TMPDIR/messages; exit $status";
    const Words limited{"sh", "-c",
                        std::string("ulimit -f 0; " RANK_PROGRAMS "/weft run ") + kFails + file};
    EXPECT_EQ(run_command(limited).status, 7);
}

}  // namespace
}  // namespace weft::test
