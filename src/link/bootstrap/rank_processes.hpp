// SPDX-License-Identifier: BSD-3-Clause
// rank_processes.hpp - finds the processes of this node's ranks by environment variables in /proc.
//
// Idea     A launcher passes job and rank to each process in its environment. Processes of the same
//          user can read this environment in /proc. So a rank can detect that a local peer has
//          ended or never started, even before the peer has run any code of this library.
// Why      Before cards are exchanged, a rank has no connection to other ranks. A launcher may end
//          the job without naming the rank that caused it.
// Holds    Only reads /proc. Reports no rank if this process does not find itself in /proc. Reports
//          ranks that it has never seen only if another rank or the launcher is visible in /proc:
//          otherwise each rank may have its own container with separate process ids.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/types.hpp"

namespace weft::link {

class RankProcesses {
  public:
    /// `job`: value of PMIX_NAMESPACE. `ranks`: the node's ranks, including `me`. If they are not
    /// known, `ranks` is empty, and only ranks seen so far are checked. `folder`: for tests.
    RankProcesses(std::string_view job, std::vector<Rank> ranks, Rank me,
                  std::string folder = "/proc");

    /// Checks the processes now. Returns a text about missing ranks, or an empty text.
    [[nodiscard]] std::string missing();

  private:
    [[nodiscard]] Rank rank_of(std::string_view process) const;
    [[nodiscard]] bool all_ranks_run() const;
    void find_processes();
    [[nodiscard]] bool sees_launcher() const;

    const std::string job_;  ///< entry in the environment of the job: "PMIX_NAMESPACE=..."
    const bool ranks_known_;
    std::vector<Rank> ranks_;  ///< ascending
    const Rank me_;
    const std::string folder_;
    std::map<Rank, std::string> process_;  ///< process id of each rank that has been seen
};

/// Returns the node's ranks, including `me`, from variables of mpirun or srun; empty: unknown.
[[nodiscard]] std::vector<Rank> node_ranks_by_environment(Rank me);

/// Returns true if `weft run` started this process, by the name of its job.
[[nodiscard]] bool started_by_own_launcher();

/// Returns the processes of this process's job. `me` is the rank of this process.
[[nodiscard]] RankProcesses processes_of_this_node(Rank me);

}  // namespace weft::link
