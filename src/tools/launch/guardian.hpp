// SPDX-License-Identifier: BSD-3-Clause
// guardian.hpp - the folder of a job, and a helper that cleans up if the launcher is killed.
//
// Idea     The helper is a process that sleeps on a pipe whose write end only the launcher holds.
//          If the pipe closes without the final word, it kills the processes of the job and
//          removes its folder.
// Why      A launcher killed by SIGKILL cannot clean up, and the death signal of ranks does not
//          reach the processes that they have started. The helper finds these by the job's name in
//          their environment, even if they have left the process group of their rank.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/file_descriptor.hpp"
#include "tools/launch/failure.hpp"

namespace weft::tools {

/// A private folder (mode 0700), removed by its owner's end.
class ScratchFolder {
  public:
    /// Makes a new folder below $TMPDIR, or /tmp.
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

struct GuardedJob {
    std::string folder;
    std::string job_name;  ///< value of PMIX_NAMESPACE in the environment of its processes
};

class Guardian {
  public:
    /// Starts the helper. Must run before this process has threads.
    explicit Guardian(const GuardedJob& job);
    ~Guardian();
    Guardian(const Guardian&) = delete;
    Guardian& operator=(const Guardian&) = delete;

    /// Adds a process group that is killed if the launcher dies.
    void watch(pid_t group) { send(group); }
    /// Removes a process group whose leader has ended, because its number may be reused.
    void forget(pid_t group) { send(-group); }

    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    void send(pid_t word);

    pid_t pid_;
    base::FileDescriptor pipe_;
};

}  // namespace weft::tools
