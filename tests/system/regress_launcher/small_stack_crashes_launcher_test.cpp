// SPDX-License-Identifier: BSD-3-Clause
// Bug: a function of the PMIx library has a stack frame of 200 KiB, so the launcher ended by
// SIGSEGV with a small limit of the stack. Method: jobs with limits below and near 200 KiB must
// succeed. In commit 9d518da, which lacks the fix, `weft run` ends with status 139.
#include <fmt/format.h>

#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

TEST(SmallStackCrashesLauncher, JobsRunUnderSmallLimits) {
    for (const int kilobytes : {64, 128, 192}) {
        for (const char* const options : {"-n 2", "-n 4 --nodes 2 --label"}) {
            SCOPED_TRACE(fmt::format("{} KiB, {}", kilobytes, options));
            const Outcome outcome =
                launch(fmt::format("ulimit -s {};", kilobytes),
                       fmt::format("{} --timeout 20 -- {}", options, rank_program("hello")));
            EXPECT_EQ(outcome.status, 0) << outcome.errors;
        }
    }
}

}  // namespace
}  // namespace weft::test
