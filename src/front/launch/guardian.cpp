// SPDX-License-Identifier: BSD-3-Clause
#include "front/launch/guardian.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace weft::front {
namespace {

constexpr pid_t kAllDone = 0;

/// The life of the helper.
[[noreturn]] void guard(int pipe, const std::string& folder) {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);  // Signals to the launcher are not for it.
    ::setpgid(0, 0);
    ::prctl(PR_SET_NAME, "weft-guardian");
    // The launcher's other files must close when the launcher closes them.
    ::dup2(pipe, 0);
    ::close_range(1, ~0U, 0);
    std::vector<pid_t> groups;
    for (pid_t group = 0; ::read(0, &group, sizeof group) == sizeof group;) {
        if (group == kAllDone) ::_exit(0);
        groups.push_back(group);
    }
    for (const pid_t group : groups) ::kill(-group, SIGKILL);
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    ::_exit(0);
}

}  // namespace

base::Result<std::unique_ptr<Guardian>> Guardian::start(const std::string& folder) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return base::fail(Status::environment, "cannot make a pipe: {}", std::strerror(errno));
    }
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::close(ends[1]);
        guard(ends[0], folder);
    }
    ::close(ends[0]);
    FileDescriptor pipe(ends[1]);
    if (pid < 0) {
        return base::fail(Status::environment, "cannot start a process: {}", std::strerror(errno));
    }
    return std::unique_ptr<Guardian>(new Guardian(pid, std::move(pipe)));
}

Guardian::~Guardian() {
    watch(kAllDone);
    ::waitpid(pid_, nullptr, 0);
}

void Guardian::watch(pid_t group) {
    // A guardian that was killed is no reason to fail; the launcher ignores SIGPIPE.
    [[maybe_unused]] const auto written = ::write(pipe_.number(), &group, sizeof group);
}

}  // namespace weft::front
