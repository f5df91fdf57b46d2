// SPDX-License-Identifier: BSD-3-Clause
// Bug: a limit of processor time (cpu.max of containers) was ignored: two ranks in a container with
// the time of one processor spun, and the kernel stopped them for half of the time. Method: write
// files like the kernel's for versions 1 and 2 of control groups, and read the limit from them. As
// root and with version 1, also run a job in a group. In commit 296e588, which lacks the fix, the
// job reports that waiting ranks spin.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "run/job/host_facts.hpp"
#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

class UnseenQuota : public testing::Test {
  protected:
    UnseenQuota() {
        std::string name = "/tmp/weft-test.XXXXXX";
        root_ = ::mkdtemp(name.data());
    }
    ~UnseenQuota() override { fs::remove_all(root_); }

    /// Writes a file of the test's folder: "/groups" is the model of /proc/self/cgroup, and
    /// "/cgroup" of /sys/fs/cgroup.
    void write(const std::string& file, const std::string& text) const {
        fs::create_directories(fs::path(root_ + file).parent_path());
        std::ofstream(root_ + file) << text;
    }
    [[nodiscard]] run::CpuQuota quota() const {
        return run::cpu_quota(root_ + "/groups", root_ + "/cgroup");
    }

    std::string root_;
};

TEST_F(UnseenQuota, TheSmallestLimitOfAllParentGroupsApplies) {
    write("/groups", "0::/a/b\n");
    EXPECT_FALSE(quota().limited());
    write("/cgroup/a/b/cpu.max", "max 100000\n");
    EXPECT_FALSE(quota().limited());
    write("/cgroup/a/cpu.max", "150000 100000\n");
    EXPECT_EQ(quota().thousandths, 1500U);
    const std::uint64_t group = quota().group;
    write("/groups", "0::/a/c\n");
    EXPECT_EQ(quota().group, group) << "both groups have this limit";
    write("/cgroup/a/c/cpu.max", "50000 100000\n");
    EXPECT_EQ(quota().thousandths, 500U);
    EXPECT_NE(quota().group, group);
}

TEST_F(UnseenQuota, TheRootGroupsLimitAppliesInAContainer) {
    write("/groups", "0::/\n");
    write("/cgroup/cpu.max", "200000 100000\n");
    EXPECT_EQ(quota().thousandths, 2000U);
    write("/groups", "0::/a/path/of/the/host\n");
    EXPECT_EQ(quota().thousandths, 2000U);
}

TEST_F(UnseenQuota, LimitsOfCgroupVersion1Apply) {
    write("/groups", "9:name=systemd:/\n4:cpu,cpuacct:/box\n");
    write("/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "-1\n");
    write("/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
    EXPECT_FALSE(quota().limited());
    write("/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "25000\n");
    EXPECT_EQ(quota().thousandths, 250U);
}

TEST_F(UnseenQuota, MalformedFilesGiveNoLimit) {
    for (const char* const text : {"", "x", "5", "0 0", "-5 100000", "100000 0", "nan nan"}) {
        write("/groups", "0::/\n\nnonsense\n1:\n");
        write("/cgroup/cpu.max", text);
        EXPECT_FALSE(quota().limited()) << text;
    }
}

TEST_F(UnseenQuota, WaitingRanksYieldUnderAQuota) {
    const std::string group = fmt::format("/sys/fs/cgroup/cpu/weft-test-{}", ::getpid());
    std::error_code error;
    if (!fs::create_directory(group, error)) GTEST_SKIP() << "no control group can be made";
    std::ofstream(group + "/cpu.cfs_quota_us") << 100000 << std::flush;
    const Outcome outcome =
        run_command({"sh", "-c",
                     "echo $$ > " + group +
                         "/cgroup.procs && exec " RANK_PROGRAMS "/weft run -n 2 -- " RANK_PROGRAMS
                         "/weft info --json"});
    fs::remove(group, error);
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_NE(outcome.output.find("\"host_processors\":1"), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find("\"waiting\":\"yield\""), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace weft::test
