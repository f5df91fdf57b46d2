// SPDX-License-Identifier: BSD-3-Clause
// Bugs of ranks that use the provider shm, whose endpoints are files of 16 MiB in /dev/shm:
//   - Files of ranks that mpirun or Slurm killed remained, also if they were killed at start-up.
//     Slurm kills all processes of a job at once when a rank has ended.
//   - weft's launcher removed each file whose name has the process ID of a rank, although a process
//     of another container may have made the file.
//   - With a small /dev/shm ranks were killed by SIGBUS.
// Method: kill ranks under mpirun; kill a rank while all other processes of the job are stopped;
// make a file with a similar name; use a small /dev/shm (root only). In commit 296e588, which lacks
// the fixes, all tests fail.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/system/ranks/leftovers.hpp"
#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

/// Returns the command of a job of two ranks by mpirun.
Words under_mpirun() {
    return {
        "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", rank_program("storm_rank"),
        "1"};
}
/// Settings of two virtual nodes over shm.
const Words kOverShm{"WEFT_NODES=2", "WEFT_PROVIDER=shm"};

/// Returns the processes of the job that are ranks.
std::vector<pid_t> ranks_of(const RunningProgram& job) {
    std::vector<pid_t> ranks = job.processes();
    std::erase_if(ranks, [](pid_t pid) {
        std::ifstream comm(fmt::format("/proc/{}/comm", pid));
        std::string name;
        std::getline(comm, name);
        return name != "weft_storm_rank";
    });
    return ranks;
}

void signal_ranks(const RunningProgram& job, int signal) {
    for (const pid_t rank : ranks_of(job)) ::kill(rank, signal);
}

/// Returns the files of endpoints in /dev/shm.
std::set<std::string> endpoints() {
    std::set<std::string> files = shared_files();
    std::erase_if(files,
                  [](const std::string& file) { return file.find("/weft-") == std::string::npos; });
    return files;
}

TEST(LeftEndpoint, NoFileRemainsOfRanksKilledUnderMpirun) {
    if (std::system("mpirun --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no mpirun";
    const std::set<std::string> before = shared_files();
    RunningProgram job(under_mpirun(), kOverShm, 60);
    ASSERT_TRUE(job.wait_for_output("running\nrunning\n"));
    EXPECT_EQ(endpoints(), std::set<std::string>{}) << "while the job runs";
    signal_ranks(job, SIGKILL);
    EXPECT_NE(job.wait().status, 0);
    EXPECT_EQ(new_shared_files(before), std::set<std::string>{});
}

TEST(LeftEndpoint, NoFileRemainsOfRanksKilledDuringStartUp) {
    if (std::system("mpirun --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no mpirun";
    const std::set<std::string> before = shared_files();
    RunningProgram job(under_mpirun(), kOverShm, 60);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (endpoints().empty() && std::chrono::steady_clock::now() < deadline)
        ::poll(nullptr, 0, 1);
    EXPECT_FALSE(endpoints().empty()) << "no endpoint was seen before the kill";
    signal_ranks(job, SIGKILL);
    EXPECT_NE(job.wait().status, 0);
    EXPECT_EQ(new_shared_files(before), std::set<std::string>{});
}

/// Stops ranks and launcher while the endpoints of three ranks exist. Returns false if a rank had
/// removed its endpoint's file already: ranks remove the files when all are connected.
bool stop_with_endpoints(const RunningProgram& job) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (endpoints().size() < 3 && std::chrono::steady_clock::now() < deadline) continue;
    signal_ranks(job, SIGSTOP);
    job.send(SIGSTOP);
    return endpoints().size() == 3;
}

TEST(LeftEndpoint, NoFileRemainsAfterTheFirstRankEnds) {
    constexpr int kTries = 10;
    for (int i = 0; i < kTries; ++i) {
        RunningProgram job({RANK_PROGRAMS "/weft", "run", "-n", "3", "--nodes", "3", "-x",
                            "WEFT_PROVIDER=shm", "--", rank_program("storm_rank"), "1"},
                           {}, 60);
        const bool exist = stop_with_endpoints(job);
        const std::vector<pid_t> ranks = ranks_of(job);
        if (exist && ranks.size() == 3) {
            ::kill(ranks[1], SIGKILL);
            const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
            while (!endpoints().empty() && std::chrono::steady_clock::now() < deadline)
                ::poll(nullptr, 0, 1);
            EXPECT_EQ(endpoints(), std::set<std::string>{});
            EXPECT_EQ(::kill(ranks[0], 0) + ::kill(ranks[2], 0), 0)
                << "the other two ranks must still exist";
        }
        signal_ranks(job, SIGCONT);
        job.send(SIGCONT);
        job.send(SIGTERM);
        EXPECT_NE(job.wait().status, 0);
        if (exist && ranks.size() == 3) return;
    }
    FAIL() << "endpoints were removed before the stop in all " << kTries << " tries";
}

TEST(LeftEndpoint, AnUnrelatedFileWithASimilarNameIsKept) {
    const Outcome outcome = run_ranks(
        {"-n", "1"}, {"sh", "-c", "echo $$; echo mine > /dev/shm/$$:0:weft-test; kill -9 $$"});
    EXPECT_EQ(outcome.status, 128 + SIGKILL);
    const std::string file = fmt::format("/dev/shm/{}:0:weft-test", std::stoi(outcome.output));
    EXPECT_TRUE(std::filesystem::exists(file));
    std::filesystem::remove(file);
}

TEST(LeftEndpoint, LackOfSpaceIsAnErrorAndNotASignal) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make a small /dev/shm";
    for (const char* const size : {"1m", "17m", "24m"}) {
        const std::string script =
            fmt::format("mount -t tmpfs -o size={} tmpfs /dev/shm && exec " RANK_PROGRAMS
                        "/weft run -n 2 --nodes 2 -x WEFT_PROVIDER=shm -- " RANK_PROGRAMS
                        "/weft_storm_rank 1 50",
                        size);
        const Outcome outcome = run_command({"unshare", "-m", "sh", "-c", script});
        EXPECT_EQ(outcome.status, 3) << size << ": " << outcome.errors;
    }
}

}  // namespace
}  // namespace weft::test
