// SPDX-License-Identifier: BSD-3-Clause
// process.hpp - starts a child process, describes its end, and ends all descendants.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "tools/launch/failure.hpp"
#include "tools/launch/launcher_signals.hpp"

namespace weft::tools {

struct SpawnOptions {
    std::string program;                 ///< path of the file to execute
    std::vector<std::string> arguments;  ///< from argv[0] on
    std::vector<std::string> environment;
    // Files that become the child's standard files; -1: the child inherits this process's file.
    int input = -1;
    int output = -1;
    int error = -1;
    const cpu_set_t* cpus = nullptr;            ///< processors; nullptr: those of this process
    const InheritedSignals* signals = nullptr;  ///< restored; nullptr: those of this process
};

/// Returns the strings as arguments of exec(), with nullptr at the end.
[[nodiscard]] std::vector<char*> pointers_to(const std::vector<std::string>& strings);

/// Returns the hardware threads that this process may use, for each core that has any.
[[nodiscard]] std::vector<cpu_set_t> usable_cores();

/// Opens /dev/null for each closed standard file, so that no other file gets its number.
void open_missing_standard_files();

/// Starts a child in a new process group. The child gets SIGKILL when this thread ends, and
/// inherits only the three standard files. Throws an Error if the program cannot be executed.
[[nodiscard]] pid_t spawn(const SpawnOptions& options);

/// Opens a file that becomes readable when the process ends.
[[nodiscard]] base::FileDescriptor open_process_file(pid_t pid);

/// Returns the file that a shell would execute for this name.
[[nodiscard]] base::Result<std::string> find_program(const std::string& name);

/// Returns "was killed by signal 9 (Killed)" or "exited with status 7".
[[nodiscard]] std::string describe_end(int wait_status);

/// Returns the exit status that a shell would report: 128 + signal if killed.
[[nodiscard]] int shell_status(int wait_status);

/// Returns true if the process has begun to end: its memory and files may already be gone.
[[nodiscard]] bool is_ending(pid_t pid);

struct ProcessEnd {
    bool failed = false;  ///< killed, or exited with a status other than 0
    bool killed = false;  ///< by a signal other than SIGPIPE, which a dead reader may have caused
};

/// Returns how a child has ended; nothing if it has not. Does not reap the child.
[[nodiscard]] std::optional<ProcessEnd> end_without_reaping(pid_t pid);

/// Returns the children of all threads of this process; none without /proc.
[[nodiscard]] std::vector<pid_t> children_of_this_process();

/// Kills all children of this process except `spared`, and the orphans that become its children,
/// and reaps all that have ended. Without /proc, only reaps. Returns the processes that still run
/// after `limit`: they belong to other users (a rank may have changed its user), or are blocked in
/// the kernel.
[[nodiscard]] std::vector<pid_t> end_descendants(std::span<const pid_t> spared,
                                                 std::chrono::milliseconds limit);

/// Returns the reason why SIGKILL has not ended a process, for messages.
[[nodiscard]] std::string why_it_runs(pid_t pid);

}  // namespace weft::tools
