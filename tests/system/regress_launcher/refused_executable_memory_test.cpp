// SPDX-License-Identifier: BSD-3-Clause
// Bug: no rank could start if the administrator forbids executable memory files
// (vm.memfd_noexec=2). Method: the setting belongs to a PID namespace, so the job runs in a new
// namespace. Commit 296e588, which lacks the fix, fails on Linux 6.3 to 6.5 ("memfd_create:
// Permission denied"). Later kernels accept its memfd_create() without MFD_EXEC or MFD_NOEXEC_SEAL,
// and make the file not executable.
#include <unistd.h>

#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

TEST(RefusedExecutableMemory, JobsRunWithoutExecutableMemory) {
    const std::string script =
        "echo 2 > /proc/sys/vm/memfd_noexec || exit 77; "
        "exec " RANK_PROGRAMS "/weft run -n 2 -- " RANK_PROGRAMS "/weft_hello";
    const Outcome outcome =
        run_command({"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script});
    if (outcome.status == 77 || outcome.errors.find("unshare:") != std::string::npos)
        GTEST_SKIP() << "no PID namespace with this setting can be made: " << outcome.errors;
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

}  // namespace
}  // namespace weft::test
