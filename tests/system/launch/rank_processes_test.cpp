// SPDX-License-Identifier: BSD-3-Clause
// rank_processes_test.cpp - reports about missing ranks of a node, from a folder like /proc.
//
// Goal: ranks that have ended, and ranks that never started, are named. If the folder does not show
// enough processes, the report is empty.
// Method: the test writes files `environ` and `stat` as the kernel does.
#include "link/bootstrap/rank_processes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

namespace weft::test {
namespace {

using link::RankProcesses;

class RankProcessesTest : public testing::Test {
  protected:
    RankProcessesTest()
        : folder_(fmt::format("{}rank_processes.{}", testing::TempDir(), ::getpid())) {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directory(folder_);
        add("self", 0);  // this process, which is rank 0 and has the number 10
        add("10", 0);
        set_parent("self", 0);
    }
    ~RankProcessesTest() override { std::filesystem::remove_all(folder_); }

    /// Adds a process with the environment of a rank.
    void add(const std::string& process, Rank rank, const std::string& job = "ours") const {
        std::filesystem::create_directory(folder_ / process);
        const std::string text =
            fmt::format("HOME=/{0}PMIX_RANK={1}{0}A=B{0}PMIX_NAMESPACE={2}{0}", '\0', rank, job);
        std::ofstream(folder_ / process / "environ", std::ios::binary) << text;
    }
    void set_parent(const std::string& process, int parent) const {
        std::ofstream(folder_ / process / "stat") << fmt::format("10 (a) b) S {} 7 7 0", parent);
    }
    void remove(const std::string& process) const {
        std::filesystem::remove_all(folder_ / process);
    }
    [[nodiscard]] RankProcesses node(const std::vector<Rank>& ranks) const {
        return {"ours", ranks, 0, folder_.native()};
    }

  private:
    std::filesystem::path folder_;
};

TEST_F(RankProcessesTest, NoRankIsReportedIfAllArePresent) {
    add("11", 1);
    RankProcesses processes = node({0, 1});
    EXPECT_EQ(processes.missing(), "");
    EXPECT_EQ(processes.missing(), "");
}

TEST_F(RankProcessesTest, AnExitedRankIsNamedWithItsProcess) {
    add("9", 1);
    add("11", 2);
    RankProcesses processes = node({0, 1, 2});
    EXPECT_EQ(processes.missing(), "");
    remove("9");
    EXPECT_EQ(processes.missing(), "rank 1 (process 9) is gone");
    remove("11");
    EXPECT_EQ(processes.missing(), "rank 1 (process 9) is gone, rank 2 (process 11) is gone");
}

TEST_F(RankProcessesTest, AChildOfARankDoesNotCountAsTheRank) {
    add("11", 1);
    add("12", 1);
    RankProcesses processes = node({0, 1});
    EXPECT_EQ(processes.missing(), "");
    remove("11");
    EXPECT_EQ(processes.missing(), "rank 1 (process 11) is gone");
}

TEST_F(RankProcessesTest, AReusedProcessNumberDoesNotCountAsTheRank) {
    add("11", 1);
    RankProcesses processes = node({0, 1});
    EXPECT_EQ(processes.missing(), "");
    add("11", 1, "theirs");
    EXPECT_EQ(processes.missing(), "rank 1 (process 11) is gone");
}

TEST_F(RankProcessesTest, ARankThatNeverStartedIsNamed) {
    add("11", 1);
    add("12", 2, "theirs");
    RankProcesses processes = node({0, 1, 2});
    EXPECT_EQ(processes.missing(), "rank 2 has no process");
    add("13", 2);
    EXPECT_EQ(processes.missing(), "");
}

TEST_F(RankProcessesTest, NoRankIsReportedIfNeitherLauncherNorRankIsVisible) {
    EXPECT_EQ(node({0, 1}).missing(), "");
    set_parent("self", 9);
    add("9", 0);  // a shell that has started this rank
    set_parent("9", 0);
    EXPECT_EQ(node({0, 1}).missing(), "");
}

TEST_F(RankProcessesTest, AMissingRankIsReportedIfTheLauncherIsVisible) {
    set_parent("self", 1);
    EXPECT_EQ(node({0, 1}).missing(), "rank 1 has no process");
    set_parent("self", 9);
    add("9", 0);
    set_parent("9", 1);
    EXPECT_EQ(node({0, 1}).missing(), "rank 1 has no process");
}

TEST_F(RankProcessesTest, AProcessThatCannotFindItselfReportsNoRank) {
    add("11", 1);
    add("self", 0, "");
    EXPECT_EQ(node({0, 1, 2}).missing(), "");
}

TEST_F(RankProcessesTest, OnlyTheFirstOfManyMissingRanksAreNamed) {
    add("11", 1);
    std::vector<Rank> ranks(12);
    std::iota(ranks.begin(), ranks.end(), 0);
    const std::string text = node(ranks).missing();
    EXPECT_TRUE(text.starts_with("rank 2 has no process, rank 3 has")) << text;
    EXPECT_TRUE(text.ends_with("rank 9 has no process, and 2 more")) << text;
}

TEST_F(RankProcessesTest, WithoutAListOfRanksOnlyRanksSeenBeforeAreChecked) {
    set_parent("self", 1);
    add("11", 4);
    RankProcesses processes = node({});
    EXPECT_EQ(processes.missing(), "");
    add("12", 2);
    EXPECT_EQ(processes.missing(), "");
    remove("11");
    remove("12");
    EXPECT_EQ(processes.missing(), "rank 2 (process 12) is gone, rank 4 (process 11) is gone");
}

class NodeRanksTest : public testing::Test {
  protected:
    static void set(const char* name, const char* value) { ::setenv(name, value, 1); }
    ~NodeRanksTest() override {
        for (const char* const name :
             {"SLURM_GTIDS", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"})
            ::unsetenv(name);
    }
};

TEST_F(NodeRanksTest, RanksAreReadFromTheListOfSrun) {
    set("SLURM_GTIDS", "12,0,1");
    EXPECT_EQ(link::node_ranks_by_environment(0), (std::vector<Rank>{0, 1, 12}));
    set("SLURM_GTIDS", "3,,x,-1,99999999999,0");
    EXPECT_EQ(link::node_ranks_by_environment(0), (std::vector<Rank>{0, 3}));
}

TEST_F(NodeRanksTest, AListWithoutThisRankIsIgnored) {
    set("SLURM_GTIDS", "1,2");
    EXPECT_EQ(link::node_ranks_by_environment(0), std::vector<Rank>{});
}

TEST_F(NodeRanksTest, MpirunInABatchJobOverridesTheBatchStep) {
    set("SLURM_GTIDS", "0");
    set("OMPI_COMM_WORLD_SIZE", "2");
    set("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
    EXPECT_EQ(link::node_ranks_by_environment(0), (std::vector<Rank>{0, 1}));
}

TEST_F(NodeRanksTest, AllRanksAreOnTheNodeInAJobOfOneNode) {
    set("OMPI_COMM_WORLD_SIZE", "3");
    EXPECT_EQ(link::node_ranks_by_environment(0), std::vector<Rank>{});
    set("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
    EXPECT_EQ(link::node_ranks_by_environment(0), std::vector<Rank>{});
    set("OMPI_COMM_WORLD_LOCAL_SIZE", "3");
    EXPECT_EQ(link::node_ranks_by_environment(0), (std::vector<Rank>{0, 1, 2}));
}

}  // namespace
}  // namespace weft::test
