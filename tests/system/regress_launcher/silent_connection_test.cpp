// SPDX-License-Identifier: BSD-3-Clause
// Bug: the thread of the PMIx server blocks until it has read the first message of a connection. A
// process of another user that connected to the launcher's port and sent nothing stopped the job.
// Method: as root, start a process of another user that connects and sends nothing; the ranks join
// later. In commit 296e588, which lacks the fix, the job ends by its timeout.
#include <fmt/format.h>
#include <unistd.h>

#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

TEST(SilentConnection, AConnectionOfAnotherUserDoesNotBlockTheJob) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can start a process of another user";
    // The server's address ends with the port; python3 keeps the connection open.
    const std::string program =
        "port=$(env | sed -n 's/^PMIX_SERVER_URI41=.*:\\([0-9]*\\)$/\\1/p'); test -n \"$port\" "
        "|| exit 77; if [ $PMIX_RANK = 0 ]; then setsid setpriv --reuid=65534 --regid=65534 "
        "--clear-groups /usr/bin/python3 -c 'import socket, sys, time; "
        "s = socket.create_connection((\"127.0.0.1\", int(sys.argv[1]))); time.sleep(20)' $port "
        ">/dev/null 2>&1 & fi; sleep 0.7; exec " CLIENT_PROGRAM " cards";
    const Outcome outcome =
        run_command(weft_run({"-n", "2", "--timeout", "8"}, {"sh", "-c", program}));
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_LT(outcome.seconds, 8);
}

}  // namespace
}  // namespace weft::test
