// SPDX-License-Identifier: BSD-3-Clause
// kill_test.cpp - kill -9 of one of eight ranks, at any time.
//
// Goal: the job ends within 5 s with the status of the killed rank. The launcher names this
// rank, each other rank reports its state or is listed as not in the job yet, and the job leaves no
// files. Method: kill a random rank at a random time, right after its process starts, at start-up
// or in calls, on one node and on four virtual nodes. The long form makes 200 kills;
// WEFT_TESTS_SEED repeats a run.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "base/clock.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/system/ranks/leftovers.hpp"
#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

constexpr int kRanks = 8;
constexpr double kEndMax_s = 5;  ///< maximum time from the kill to the end of the job

/// A kill to make, and the layout of the job.
struct Kill {
    bool on_four_nodes = false;  ///< virtual nodes; false: one node
    int rank = 0;
    double time_s = 0;  ///< seconds after the start of the launcher
};

unsigned seed() {
    return static_cast<unsigned>(seed_to_repeat().value_or(std::random_device{}()));
}

double now_s() {
    return 1e-9 * static_cast<double>(base::monotonic_ns());
}

/// Returns the process id of a rank, or 0 if the rank does not run yet.
pid_t find_rank(const RunningProgram& job, int rank) {
    const std::string variable = fmt::format("PMIX_RANK={}", rank);
    for (const pid_t pid : job.processes()) {
        std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
        for (std::string entry; std::getline(file, entry, '\0');) {
            if (entry == variable) return pid;
        }
    }
    return 0;
}

/// Kills the rank at kill.time_s or, if it does not run yet, as soon as it does. Gives up after
/// 20 s and returns false.
bool kill_rank(const RunningProgram& job, const Kill& kill, double started_s) {
    while (now_s() < started_s + kill.time_s) ::poll(nullptr, 0, 1);
    for (const double deadline = now_s() + 20; now_s() < deadline;) {
        if (const pid_t pid = find_rank(job, kill.rank); pid != 0) return ::kill(pid, SIGKILL) == 0;
    }
    return false;
}

/// Returns true if the launcher lists the rank as not in the job yet.
bool is_listed(const std::string& errors, int rank) {
    const auto lists = lines_like(errors, "weft run: not in the job yet: .*");
    if (lists.size() != 1) return false;
    const std::regex entry("([0-9]+)(-([0-9]+))?");
    const std::string& list = *lists.begin();
    for (std::sregex_iterator at(list.begin(), list.end(), entry), end; at != end; ++at) {
        const int first = std::stoi((*at)[1]);
        const int last = (*at)[3].matched ? std::stoi((*at)[3]) : first;
        if (first <= rank && rank <= last) return true;
    }
    return false;
}

/// Checks that the launcher names the killed rank once, and that each other rank has one report or
/// is listed.
void expect_final_reports(const std::string& errors, const Kill& kill) {
    EXPECT_EQ(
        lines_like(errors, fmt::format("weft run: rank {} was killed by signal 9 .*", kill.rank))
            .size(),
        1U);
    for (int rank = 0; rank < kRanks; ++rank) {
        if (rank == kill.rank) continue;
        const std::string name = std::to_string(rank);
        const std::size_t lines =
            lines_like(errors, waiting_line(name, "[0-7]")).size() +
            lines_like(errors, fmt::format("weft: rank {}: .*: waiting for (room to put to rank "
                                           "[0-7]|earlier puts .*)",
                                           name))
                .size() +
            lines_like(errors, fmt::format("weft: rank {}: start-up: .*", name)).size() +
            lines_like(errors, fmt::format("weft: rank {}: in the application, .*", name)).size();
        EXPECT_LE(lines, 1U) << "rank " << name;
        EXPECT_TRUE(lines == 1 || is_listed(errors, rank)) << "no report of rank " << name;
    }
}

/// Starts a job and kills the rank. Returns the seconds from the kill to the end of the job.
double run_and_kill(const Kill& kill) {
    const std::set<std::string> shared_before = shared_files();
    Words options{"-n", std::to_string(kRanks)};
    if (kill.on_four_nodes) options.insert(options.end(), {"--nodes", "4"});
    const double started_s = now_s();
    RunningProgram job(weft_run(options, {rank_program("stuck"), "loop"}), {}, launch_deadline_s());
    const bool killed = kill_rank(job, kill, started_s);
    const double killed_s = now_s();
    EXPECT_TRUE(killed);
    if (!killed) return 0;
    const Outcome outcome = job.wait();
    const double took_s = now_s() - killed_s;
    EXPECT_TRUE(job.processes().empty());
    EXPECT_TRUE(job.files().empty());
    EXPECT_EQ(new_shared_files(shared_before), std::set<std::string>{});
    EXPECT_EQ(outcome.status, 128 + SIGKILL);
    EXPECT_LT(took_s, kEndMax_s);
    EXPECT_EQ(outcome.output, "");
    expect_final_reports(outcome.errors, kill);
    if (testing::Test::HasFailure()) ADD_FAILURE() << "the job printed:\n" << outcome.errors;
    return took_s;
}

TEST(KillTest, AKilledRankIsNamedAndAllOthersReportTheirWaits) {
    const unsigned chosen = seed();
    fmt::print("WEFT_TESTS_SEED={}\n", chosen);
    std::mt19937 random(chosen);
    std::uniform_int_distribution<int> rank(0, kRanks - 1);
    const int kills = long_forms() ? 200 : 12;
    int made = 0;
    double longest_s = 0;
    double sum_s = 0;
    for (int i = 0; i < kills && !HasFailure(); ++i) {
        Kill kill{.on_four_nodes = i % 2 == 1, .rank = rank(random), .time_s = 0};
        kill.time_s = std::uniform_real_distribution(0.0, kill.on_four_nodes ? 2.5 : 0.5)(random);
        SCOPED_TRACE(fmt::format("kill {}: rank {} after {:.3f} s, {}", i, kill.rank, kill.time_s,
                                 kill.on_four_nodes ? "4 virtual nodes" : "one node"));
        const double took_s = run_and_kill(kill);
        longest_s = std::max(longest_s, took_s);
        sum_s += took_s;
        ++made;
    }
    fmt::print("{} kills: jobs ended at most {:.2f} s after the kill, {:.2f} s on average\n", made,
               longest_s, sum_s / std::max(made, 1));
}

}  // namespace
}  // namespace weft::test
