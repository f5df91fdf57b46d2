// SPDX-License-Identifier: BSD-3-Clause
// process.cpp - starts children by vfork and exec, with features that posix_spawn lacks: a death
// signal, processors, closed files.
//
// Why      fork would copy the page tables of the PMIx server for each rank, which takes longer
//          than the rest of the start.
// Holds    Between vfork and exec the child makes system calls only.
#include "tools/launch/process.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include "topology/hwloc_reader.hpp"

namespace weft::tools {
namespace {

// Interval between checks of killed processes; it doubles from the first to the longest.
constexpr std::chrono::microseconds kFirstPause{100};
constexpr std::chrono::microseconds kLongestPause{20'000};

/// Runs in the child: executes the program. Returns errno, only on failure.
int become_program(const SpawnOptions& options, char* const* arguments, char* const* environment,
                   pid_t parent) {
    if (::setpgid(0, 0) != 0) return errno;
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
    if (::getppid() != parent) ::_exit(127);  // the parent died before prctl()
    const int files[3] = {options.input, options.output, options.error};
    for (int target = 0; target < 3; ++target) {
        if (files[target] >= 0 && ::dup2(files[target], target) < 0) return errno;
    }
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    if (options.cpus != nullptr && ::sched_setaffinity(0, sizeof(cpu_set_t), options.cpus) != 0)
        return errno;
    if (options.signals != nullptr) options.signals->restore();
    ::execve(options.program.c_str(), arguments, environment);
    return errno;
}

bool executable(const std::string& path) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
}

/// folder: the thread's folder in /proc. Returns nothing if it does not exist.
std::optional<bool> thread_is_ending(const std::string& folder) {
    constexpr unsigned long kExiting = 4;  // PF_EXITING of the kernel
    std::ifstream file(folder + "/stat");
    std::string text;
    std::getline(file, text);
    // The name in parentheses may contain any character. State, five numbers and flags follow.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream fields(text.substr(name_end + 1));
    char state = 0;
    long ignored = 0;
    unsigned long flags = 0;
    fields >> state;
    for (int field = 0; field < 5; ++field) fields >> ignored;
    fields >> flags;
    return state == 'Z' || state == 'X' || (flags & kExiting) != 0;
}

}  // namespace

std::vector<pid_t> children_of_this_process() {
    std::vector<pid_t> children;
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
        std::ifstream file(task.path() / "children");
        for (pid_t child = 0; file >> child;) children.push_back(child);
    }
    return children;
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    pointers.reserve(strings.size() + 1);
    for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<cpu_set_t> usable_cores() {
    std::vector<cpu_set_t> sets;
    const auto machine = need(topology::read_machine(), "--bind core");
    for (const topology::Processors& core : machine.usable_cores) {
        cpu_set_t& set = sets.emplace_back();  // empty
        for (const int processor : core) CPU_SET(processor, &set);
    }
    return sets;
}

void open_missing_standard_files() {
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(file, F_GETFD) >= 0) continue;
        // open() returns the lowest free number, which is `file`: all lower numbers are open.
        if (::open("/dev/null", O_RDWR) != file)
            fail(Status::environment, "cannot open /dev/null: {}", ::strerror(errno));
    }
}

pid_t spawn(const SpawnOptions& options) {
    const std::vector<char*> arguments = pointers_to(options.arguments);
    const std::vector<char*> environment = pointers_to(options.environment);
    const pid_t parent = ::getpid();
    volatile int child_error = 0;  // the child shares this memory until it executes the program
    const pid_t child = ::vfork();
    if (child == 0) {
        child_error = become_program(options, arguments.data(), environment.data(), parent);
        ::_exit(127);
    }
    if (child < 0) fail(Status::environment, "cannot start a process: {}", ::strerror(errno));
    if (const int error = child_error; error != 0) {
        ::waitpid(child, nullptr, 0);
        fail(Status::environment, "cannot execute {}: {}", options.program, ::strerror(error));
    }
    return child;
}

// Some versions of glibc declare pidfd_open() in a form that C++ cannot call.
base::FileDescriptor open_process_file(pid_t pid) {
    return base::FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

base::Result<std::string> find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) {
        if (executable(name)) return name;
        const char* const reason =
            ::access(name.c_str(), F_OK) == 0 ? "not an executable file" : "no such file";
        return base::fail(Status::environment, "cannot run {}: {}", name, reason);
    }
    const char* const path = std::getenv("PATH");
    std::string_view folders = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
    while (!name.empty()) {
        const std::size_t end = folders.find(':');
        const std::string_view folder = folders.substr(0, end);
        std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
        if (executable(candidate)) return candidate;
        if (end == std::string_view::npos) break;
        folders.remove_prefix(end + 1);
    }
    return base::fail(Status::environment, "cannot run {}: no such program in PATH", name);
}

std::string describe_end(int wait_status) {
    if (WIFSIGNALED(wait_status)) {
        const int signal = WTERMSIG(wait_status);
        return fmt::format("was killed by signal {} ({})", signal, ::strsignal(signal));
    }
    return fmt::format("exited with status {}", WEXITSTATUS(wait_status));
}

int shell_status(int wait_status) {
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

bool is_ending(pid_t pid) {
    const std::string folder = fmt::format("/proc/{}", pid);
    if (!thread_is_ending(folder).value_or(false)) return false;
    // The main thread may end while other threads of the process continue.
    std::error_code gone;
    for (std::filesystem::directory_iterator thread(folder + "/task", gone), end;
         !gone && thread != end; thread.increment(gone)) {
        if (!thread_is_ending(thread->path().string()).value_or(true)) return false;
    }
    return true;
}

std::optional<ProcessEnd> end_without_reaping(pid_t pid) {
    siginfo_t end = {};
    if (::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        end.si_pid == 0)
        return std::nullopt;
    const bool by_signal = end.si_code == CLD_KILLED || end.si_code == CLD_DUMPED;
    return ProcessEnd{.failed = by_signal || end.si_status != 0,
                      .killed = by_signal && end.si_status != SIGPIPE};
}

std::vector<pid_t> end_descendants(std::span<const pid_t> spared, std::chrono::milliseconds limit) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + limit;
    auto pause = kFirstPause;
    std::vector<pid_t> remaining;
    while (true) {
        remaining = children_of_this_process();
        std::erase_if(remaining, [&](pid_t child) {
            return std::ranges::find(spared, child) != spared.end();
        });
        for (const pid_t child : remaining) ::kill(child, SIGKILL);
        // Orphans of killed children become children of this process: the next search finds them.
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        if (remaining.empty() || Clock::now() >= deadline) return remaining;
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kLongestPause);
    }
}

std::string why_it_runs(pid_t pid) {
    if (::kill(pid, 0) != 0 && errno == EPERM)
        return "cannot be killed: it now belongs to another user";
    return "has not ended after SIGKILL; weft run does not wait for it";
}

}  // namespace weft::tools
