// SPDX-License-Identifier: BSD-3-Clause
// strangers_test.cpp - another user of the machine cannot harm a job.
//
// Goal: a process of another user knows what /proc, ss and the file system show. It cannot join a
// job of `weft run`, write to its memory or end it, neither before the ranks join nor later.
// Method: setpriv starts stranger.cpp as another user, which attacks every process and port of the
// job. Ranks check all results (watched_job.cpp). Only root can become another user, so the test is
// skipped for other users.
#include <dirent.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

constexpr const char* kStranger = "65534";  // user and group "nobody"

/// Returns the inode numbers of the processes' sockets.
std::set<std::string> sockets_of(const std::vector<pid_t>& processes) {
    std::set<std::string> found;
    for (const pid_t pid : processes) {
        std::error_code error;
        const std::string folder = fmt::format("/proc/{}/fd", pid);
        for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
            std::error_code no_link;
            const std::string link = std::filesystem::read_symlink(entry.path(), no_link).string();
            if (link.starts_with("socket:[")) found.insert(link.substr(8, link.size() - 9));
        }
    }
    return found;
}

/// Returns the TCP ports at which these processes listen.
std::set<int> ports_of(const std::vector<pid_t>& processes) {
    const std::set<std::string> sockets = sockets_of(processes);
    std::set<int> ports;
    std::ifstream file("/proc/net/tcp");
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string words[10];
        for (std::string& word : words) fields >> word;
        const std::size_t colon = words[1].find(':');
        if (words[3] != "0A" || !sockets.contains(words[9]) || colon == std::string::npos) continue;
        ports.insert(std::stoi(words[1].substr(colon + 1), nullptr, 16));
    }
    return ports;
}

/// Waits until the job listens at `count` ports, and returns them.
std::set<int> wait_for_ports(const RunningProgram& job, std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    std::set<int> ports = ports_of(job.processes());
    while (ports.size() < count && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ports = ports_of(job.processes());
    }
    EXPECT_GE(ports.size(), count);
    return ports;
}

/// Waits until the launcher, its guardian process and both ranks run. Returns their ids.
std::vector<pid_t> wait_for_processes(const RunningProgram& job) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    std::vector<pid_t> processes = job.processes();
    while (processes.size() < 4 && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        processes = job.processes();
    }
    EXPECT_GE(processes.size(), 4U);
    return processes;
}

/// Returns the job's name from a rank's environment. Waits until a rank has started.
std::string wait_for_name(const RunningProgram& job) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < end) {
        for (const pid_t pid : job.processes()) {
            std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
            for (std::string each; std::getline(file, each, '\0');)
                if (each.starts_with("PMIX_NAMESPACE=")) return each.substr(15);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "no rank has the name of its job";
    return {};
}

/// Runs the stranger and checks that no attack worked. Returns its output.
std::string expect_no_attack_works(const RunningProgram& job, const std::set<int>& ports) {
    const std::vector<pid_t> processes = wait_for_processes(job);
    // In another session than the job: within a session, a process of any user may send SIGCONT.
    const Words command{"setsid",
                        "--wait",
                        "setpriv",
                        fmt::format("--reuid={}", kStranger),
                        fmt::format("--regid={}", kStranger),
                        "--clear-groups",
                        RANK_PROGRAMS "/weft_stranger",
                        fmt::format("{}", fmt::join(processes, ",")),
                        fmt::format("{}", fmt::join(ports, ","))};
    const Outcome tried = RunningProgram(command, {}, 60).wait();
    EXPECT_EQ(tried.status, 0) << tried.errors;
    EXPECT_EQ(tried.output.find("BROKE"), std::string::npos) << tried.output;
    EXPECT_NE(tried.output.find("tried "), std::string::npos) << tried.output;
    return tried.output;
}

bool can_become_another_user() {
    return ::geteuid() == 0 &&
           RunningProgram({"setpriv", "--reuid=65534", RANK_PROGRAMS "/weft_stranger"})
                   .wait()
                   .status == 2;
}

/// Sets OLD_FILES to the files that exist before the job in the folders that the stranger searches.
void set_old_files() {
    std::string paths = "\n";
    for (const char* const folder : {"/tmp", "/dev/shm", "/run", "/var/tmp"}) {
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator(folder, error))
            paths += entry.path().string() + "\n";
    }
    ASSERT_EQ(::setenv("OLD_FILES", paths.c_str(), 1), 0);
}

/// Attacks a job before its ranks join, and again when it listens at `ports` ports. Returns the
/// output of the second attack.
std::string attack(const Words& options, std::size_t ports) {
    const char* const seconds = ports > 1 ? "7" : "3";  // longer than an attack takes
    set_old_files();
    RunningProgram job(weft_run(options, {rank_program("watched_job"), seconds}), {}, 60);
    EXPECT_TRUE(job.wait_for_output("started, not joined\n"));
    expect_no_attack_works(job, wait_for_ports(job, 1));
    std::string printed = expect_no_attack_works(job, wait_for_ports(job, ports));
    const Outcome outcome = job.wait();
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_NE(outcome.output.find("untouched\n"), std::string::npos) << outcome.errors;
    EXPECT_TRUE(job.nothing_left());
    return printed;
}

TEST(Strangers, AStrangerCannotAffectAJobOnOneNode) {
    if (!can_become_another_user()) GTEST_SKIP() << "only root can become another user";
    attack({"-n", "2"}, 1);
}

/// Each rank also listens at a port of libfabric, where the stranger's writes must be refused.
TEST(Strangers, AStrangerCannotAffectAJobOnVirtualNodes) {
    if (!can_become_another_user()) GTEST_SKIP() << "only root can become another user";
    const std::string printed =
        attack({"-n", "2", "--nodes", "2", "-x", "WEFT_PROVIDER=tcp;ofi_rxm"}, 3);
    EXPECT_NE(printed.find("reached port"), std::string::npos)
        << "no port accepted a write of the stranger, so the test shows nothing:\n"
        << printed;
}

/// Control: the stranger's method of joining works for the job's user who knows the job's name.
TEST(Strangers, TheOwnerOfTheJobCanJoin) {
    RunningProgram job(weft_run({"-n", "2"}, {"sh", "-c", "echo $PMIX_NAMESPACE; exec sleep 30"}));
    ASSERT_TRUE(job.wait_for_output("\n"));
    const std::string name = wait_for_name(job);
    const std::vector<pid_t> processes = wait_for_processes(job);
    const Outcome joined =
        RunningProgram({RANK_PROGRAMS "/weft_stranger", "0",
                        fmt::format("{}", fmt::join(ports_of(processes), ",")), name})
            .wait();
    EXPECT_NE(joined.output.find("BROKE joining"), std::string::npos) << joined.output;
    expect_end(job.wait(), 99, "aborted the job with status 99: a stranger ends this job");
}

}  // namespace
}  // namespace weft::test
