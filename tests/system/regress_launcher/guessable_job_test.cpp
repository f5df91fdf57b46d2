// SPDX-License-Identifier: BSD-3-Clause
// Bug: the PMIx namespace of a job was "weft-" and the launcher's process ID. PMIx accepts any
// client that names the namespace, so another user could join as rank 0 and abort the job. Method:
// the namespace must have 128 random bits and occur in no other variable. In commit 296e588, which
// lacks the fix, the first test fails. tests/hostile/strangers attacks jobs as another user.
#include <regex>
#include <set>

#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

TEST(GuessableJob, TheNameHas128RandomBits) {
    std::set<std::string> names;
    for (int i = 0; i < 2; ++i) {
        const Outcome outcome = launch("", "-n 1 -- printenv PMIX_NAMESPACE");
        EXPECT_TRUE(std::regex_match(outcome.output, std::regex("weft-[0-9a-f]{32}\n")))
            << outcome.output;
        names.insert(outcome.output);
    }
    EXPECT_EQ(names.size(), 2U);
}

TEST(GuessableJob, TheNameIsNotInTheServersAddress) {
    const Outcome outcome =
        launch("", "-n 1 -- sh -c 'env | grep -v ^PMIX_NAMESPACE= | grep -c $PMIX_NAMESPACE'");
    EXPECT_EQ(outcome.output, "0\n");
}

}  // namespace
}  // namespace weft::test
