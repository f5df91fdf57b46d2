// SPDX-License-Identifier: BSD-3-Clause
// process_ends.hpp - detects when processes of other ranks on this host end.
//
// Idea     A pidfd becomes readable when its process ends. All pidfds are in one epoll set, so a
//          check is one system call, whatever the number of ranks.
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
    base::Result<void> watch(Rank rank, pid_t process);
    /// Returns a rank whose process has ended, or nullopt. Reports each rank once.
    [[nodiscard]] std::optional<Rank> next();

  private:
    base::FileDescriptor epoll_;
    std::map<Rank, base::FileDescriptor> pidfds_;
};

}  // namespace weft::link
