// SPDX-License-Identifier: BSD-3-Clause
// Bug: PMIx 4 and 5 crash if HOME is not set and the user ID has no entry in the user database, as
// in many containers. Method: as root, start jobs as such a user. In commit 9d518da, which lacks
// the fix, `weft run` and ranks without HOME end with status 139 (SIGSEGV).
#include <pwd.h>
#include <unistd.h>

#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

constexpr uid_t kNameless = 54321;  ///< a user ID that usually has no entry

class MissingHomeCrashesPmix : public testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root can start a job of another user";
        if (::getpwuid(kNameless) != nullptr) GTEST_SKIP() << "user 54321 has an entry";
        if (as_nameless("test -x " RANK_PROGRAMS "/weft").status != 0)
            GTEST_SKIP() << "user 54321 cannot run the built programs";
    }
    /// Runs a command as this user, with only PATH in the environment.
    static Outcome as_nameless(const std::string& command) {
        return run_command({"sh", "-c",
                            "cd / && exec setpriv --reuid=54321 --regid=54321 --clear-groups "
                            "env -i PATH=\"$PATH\" " +
                                command});
    }
};

TEST_F(MissingHomeCrashesPmix, JobsRunWithoutAHome) {
    for (const char* const options : {"-n 2", "-n 4 --nodes 2"}) {
        const Outcome outcome = as_nameless(std::string(RANK_PROGRAMS "/weft run --timeout 20 ") +
                                            options + " -- " + rank_program("hello"));
        EXPECT_EQ(outcome.status, 0) << options << ": " << outcome.errors;
    }
}

TEST_F(MissingHomeCrashesPmix, ARankWithoutAHomeGetsAnError) {
    const Outcome outcome = as_nameless(RANK_PROGRAMS
                                        "/weft run -n 2 --timeout 20 -- "
                                        "env -u HOME " RANK_PROGRAMS "/weft info");
    EXPECT_EQ(outcome.status, 3) << outcome.errors;
    EXPECT_NE(outcome.errors.find("PMIx needs a home folder: user 54321"), std::string::npos)
        << outcome.errors;
}

TEST_F(MissingHomeCrashesPmix, HomeSetByTheUserIsKept) {
    const Outcome outcome =
        as_nameless("HOME=/nonexistent " RANK_PROGRAMS "/weft run -n 1 -- printenv HOME");
    EXPECT_EQ(outcome.output, "/nonexistent\n") << outcome.errors;
}

}  // namespace
}  // namespace weft::test
