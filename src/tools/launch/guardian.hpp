// SPDX-License-Identifier: BSD-3-Clause
// guardian.hpp - a helper process that cleans up if the launcher is killed.
//
// Idea     It sleeps on a pipe whose write end only the launcher holds. If the pipe closes without
//          the final word, the helper kills the processes of the job and removes its folder.
// Why      A launcher killed by SIGKILL cannot clean up, and the death signal of ranks does not
//          reach the processes that they have started. The helper finds these by the job's name in
//          their environment, even if they have left the process group of their rank.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/file_descriptor.hpp"
#include "base/result.hpp"

namespace weft::tools {

/// Data for the cleanup, besides process groups.
struct GuardedJob {
    std::string folder;
    std::string job_name;  ///< value of PMIX_NAMESPACE in the environment of its processes
};

class Guardian {
  public:
    /// Starts the helper. Must run before this process has threads.
    [[nodiscard]] static base::Result<std::unique_ptr<Guardian>> start(const GuardedJob& job);

    /// Sends the final word and waits until the helper has ended.
    ~Guardian();
    Guardian(const Guardian&) = delete;
    Guardian& operator=(const Guardian&) = delete;

    /// Adds a process group that is killed if the launcher dies.
    void watch(pid_t group);
    /// Removes a process group whose leader has ended, because its number may be reused.
    void forget(pid_t group);

    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    void send(pid_t word);
    Guardian(pid_t pid, base::FileDescriptor pipe) : pid_(pid), pipe_(std::move(pipe)) {}

    pid_t pid_;
    base::FileDescriptor pipe_;
};

}  // namespace weft::tools
