// SPDX-License-Identifier: BSD-3-Clause
// process_ends.hpp - detects the ends of other ranks' processes on this host.
//
// Idea     The kernel reports the end of a process by its process file (pidfd). All files are in
//          one epoll set, so a check is one system call, whatever the number of ranks.
// Holds    A process that is stopped has not ended.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>

#include "base/file_descriptor.hpp"
#include "base/result.hpp"

namespace weft::link {

class ProcessEnds {
  public:
    /// Watches a rank's process. Fails if the process has ended or cannot be watched.
    [[nodiscard]] base::Result<void> watch(Rank rank, pid_t process);
    /// Returns a rank whose process has ended, each rank once; nullopt if no
    /// further process has ended.
    [[nodiscard]] std::optional<Rank> next();

  private:
    base::FileDescriptor events_;  ///< the epoll set
    std::map<Rank, base::FileDescriptor> processes_;
};

}  // namespace weft::link
