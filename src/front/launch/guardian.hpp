// SPDX-License-Identifier: BSD-3-Clause
// guardian.hpp - a helper process that cleans up should the launcher itself be killed.
//
// Idea     It sleeps on a pipe whose other end only the launcher holds. If the pipe closes without
//          the word that all is done, it kills what is left of the job and removes its folder.
// Why      SIGKILL gives a launcher no chance to clean up, and the death signal of the ranks does
//          not reach processes that they started themselves. Those are found by the job's name in
//          their environment, also if they have left the process group of their rank.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.hpp"
#include "front/launch/file_descriptor.hpp"

namespace weft::front {

/// What it cleans up besides process groups.
struct GuardedJob {
    std::string folder;
    std::string job_name;  ///< value of PMIX_NAMESPACE in the environment of its processes
};

class Guardian {
  public:
    /// Must run before this process has threads.
    [[nodiscard]] static base::Result<std::unique_ptr<Guardian>> start(const GuardedJob& job);

    /// Sends the helper the word that all is done and waits until it has ended.
    ~Guardian();
    Guardian(const Guardian&) = delete;
    Guardian& operator=(const Guardian&) = delete;

    /// From now on this process group is killed if the launcher dies.
    void watch(pid_t group);
    /// Its leader has ended: its number may come to mean another group.
    void forget(pid_t group);

    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    void send(pid_t word);
    Guardian(pid_t pid, FileDescriptor pipe) : pid_(pid), pipe_(std::move(pipe)) {}

    pid_t pid_;
    FileDescriptor pipe_;
};

}  // namespace weft::front
