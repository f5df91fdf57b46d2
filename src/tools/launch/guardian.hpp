// SPDX-License-Identifier: BSD-3-Clause
// guardian.hpp - the folder of a job, and a helper that cleans up if the launcher is killed.
//
// Idea     The helper is a process that reads from a pipe whose write end only the launcher holds.
//          If the pipe closes before the launcher reports the end of the job, the helper kills the
//          processes of the job and removes its folder.
// Why      A launcher killed by SIGKILL cannot clean up. The kernel then kills the ranks, but not
//          the processes that ranks have started. The helper finds those by the job's name in their
//          environment, even if they have left the process group of their rank.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/file_descriptor.hpp"
#include "tools/launch/launch.hpp"

namespace weft::tools {

/// A private folder (mode 0700); the destructor removes it.
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

class Guardian {
  public:
    /// Starts the helper, by fork(): this process must not have threads yet.
    explicit Guardian(const JobNames& job);
    ~Guardian();  ///< reports the end of the job, and waits until the helper has ended

    /// Adds a process group that is killed if the launcher dies.
    void watch(pid_t group) { send(group); }
    /// Removes a process group whose leader has ended, because its number may be reused.
    void forget(pid_t group) { send(-group); }

    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    /// message: number of a group to watch, its negative to forget it, or 0 at the end of the job.
    void send(pid_t message);

    pid_t pid_;
    base::FileDescriptor pipe_;  ///< write end
};

}  // namespace weft::tools
