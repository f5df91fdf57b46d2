// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/guardian.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/shared_files.hpp"

namespace weft::tools {
namespace {

constexpr pid_t kJobEnded = 0;  ///< message of Guardian::send()

/// Returns the processes of this user whose environment contains `setting` ("NAME=value").
std::vector<pid_t> processes_with(const std::string& setting) {
    std::vector<pid_t> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        const std::string name = entry.path().filename();
        if (std::isdigit(static_cast<unsigned char>(name[0])) == 0) continue;
        std::ifstream file(entry.path() / "environ", std::ios::binary);
        for (std::string each; std::getline(file, each, '\0');) {
            if (each != setting) continue;
            found.push_back(static_cast<pid_t>(std::atoi(name.c_str())));
            break;
        }
    }
    return found;
}

/// Kills the processes of the job. Searches repeatedly, because a process may fork during a search.
void kill_processes_of(const std::string& job_name) {
    constexpr int kSearchesMax = 100;
    const std::string setting = "PMIX_NAMESPACE=" + job_name;
    for (int search = 0; search < kSearchesMax; ++search) {
        const std::vector<pid_t> remaining = processes_with(setting);
        if (remaining.empty()) return;
        for (const pid_t pid : remaining) ::kill(pid, SIGKILL);
        ::poll(nullptr, 0, 10);
    }
}

[[noreturn]] void guard(int pipe, const JobNames& job) {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);  // the helper must survive the launcher
    ::setpgid(0, 0);
    ::prctl(PR_SET_NAME, "weft-guardian");
    // The helper must not hold the launcher's other files open.
    ::dup2(pipe, 0);
    ::close_range(1, ~0U, 0);
    std::vector<pid_t> groups;
    for (pid_t group = 0; ::read(0, &group, sizeof group) == sizeof group;) {
        if (group == kJobEnded) ::_exit(0);
        if (group > 0) groups.push_back(group);
        if (group < 0) std::erase(groups, -group);
    }
    for (const pid_t group : groups) ::kill(-group, SIGKILL);
    kill_processes_of(job.job_name);
    base::SharedFolder().remove_unused();  // shared memory of the killed processes
    std::error_code ignored;
    std::filesystem::remove_all(job.folder, ignored);
    ::_exit(0);
}

}  // namespace

ScratchFolder::ScratchFolder() {
    const char* parent = std::getenv("TMPDIR");
    path_ = parent != nullptr && *parent != '\0' ? parent : "/tmp";
    path_ += "/weft-run.XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr)
        fail(Status::environment, "cannot make a folder {} for the files of the job: {}", path_,
             std::strerror(errno));
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;  // the folder may already have been removed
    std::filesystem::remove_all(path_, ignored);
}

Guardian::Guardian(const JobNames& job) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        fail(Status::environment, "cannot make a pipe: {}", std::strerror(errno));
    pid_ = ::fork();
    if (pid_ == 0) {
        ::close(ends[1]);
        guard(ends[0], job);
    }
    ::close(ends[0]);
    pipe_ = base::FileDescriptor(ends[1]);
    if (pid_ < 0) fail(Status::environment, "cannot start a process: {}", std::strerror(errno));
}

Guardian::~Guardian() {
    send(kJobEnded);
    ::kill(pid_, SIGCONT);  // the helper may have been stopped
    ::waitpid(pid_, nullptr, 0);
}

void Guardian::send(pid_t message) {
    // The launcher ignores SIGPIPE, so a killed helper causes no failure.
    [[maybe_unused]] const auto written = ::write(pipe_.number(), &message, sizeof message);
}

}  // namespace weft::tools
