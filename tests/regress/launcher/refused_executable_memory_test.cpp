// SPDX-License-Identifier: BSD-3-Clause
// Bug: where the administrator refuses memory objects that may be executed (vm.memfd_noexec=2), no
// rank could start. Method: the setting belongs to a PID namespace, so the job runs in one of its
// own. 296e588 fails on Linux 6.3 to 6.5 ("memfd_create: Permission denied"); later kernels take
// an object that says nothing about it for one that cannot be executed.
#include <unistd.h>

#include "tests/regress/launcher/launches.hpp"

namespace weft::test {
namespace {

TEST(RefusedExecutableMemory, IsNotAskedFor) {
    const std::string script =
        "echo 2 > /proc/sys/vm/memfd_noexec || exit 77; "
        "exec " RANK_PROGRAMS "/weft run -n 2 -- " RANK_PROGRAMS "/weft_hello";
    const Outcome outcome =
        run_command({"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script});
    if (outcome.status == 77 || outcome.errors.find("unshare:") != std::string::npos)
        GTEST_SKIP() << "no PID namespace with that setting can be had: " << outcome.errors;
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

}  // namespace
}  // namespace weft::test
