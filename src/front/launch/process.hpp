// SPDX-License-Identifier: BSD-3-Clause
// process.hpp - starting a child process, describing how it ended, and ending all descendants.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "front/launch/launcher_signals.hpp"

namespace weft::front {

struct SpawnOptions {
    std::string program;                 ///< path of the file to execute
    std::vector<std::string> arguments;  ///< from argv[0] on
    std::vector<std::string> environment;
    int input = -1;   ///< becomes the child's standard input; -1: this process's own
    int output = -1;  ///< likewise
    int error = -1;
    const cpu_set_t* cpus = nullptr;            ///< where it may run; null: as this process
    const InheritedSignals* signals = nullptr;  ///< what it starts with; null: as this process
};

/// Opens /dev/null as each of the standard three files that is closed: nothing else must take their
/// numbers, here or in a child.
[[nodiscard]] base::Result<void> open_missing_standard_files();

/// Starts a child in a process group of its own that gets SIGKILL when this thread ends. Only the
/// standard three files are passed on.
[[nodiscard]] base::Result<pid_t> spawn(const SpawnOptions& options);

/// The file that a shell would execute for this name.
[[nodiscard]] base::Result<std::string> find_program(const std::string& name);

/// "was killed by signal 9 (Killed)", "exited with status 7".
[[nodiscard]] std::string describe_end(int wait_status);

/// The exit status that a shell would report: 128 + signal if killed.
[[nodiscard]] int shell_status(int wait_status);

/// Whether the process has begun to end: its memory and files may be gone already.
[[nodiscard]] bool is_ending(pid_t pid);

struct ProcessEnd {
    bool failed = false;  ///< killed, or exited with a status other than 0
    bool killed =
        false;  ///< by a signal other than SIGPIPE, which follows from the end of another process
};

/// How a child has ended, if it has; it remains to be reaped.
[[nodiscard]] std::optional<ProcessEnd> end_without_reaping(pid_t pid);

/// Makes orphans of this process's descendants its children, so that end_descendants() finds them.
void adopt_orphans();

/// Kills and reaps every child of this process but `spared`, and the children that come up by that.
/// Where there is no /proc to find them by, only reaps what has ended. Result: those that run on
/// after `limit`, because they are other users' (a rank may have become one) or the kernel keeps
/// them.
[[nodiscard]] std::vector<pid_t> end_descendants(pid_t spared, std::chrono::milliseconds limit);

/// For a message about a process that SIGKILL has not ended.
[[nodiscard]] std::string why_it_runs(pid_t pid);

}  // namespace weft::front
