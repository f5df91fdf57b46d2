// SPDX-License-Identifier: BSD-3-Clause
// rank_processes.hpp - finds the processes of this node's ranks, by the launchers'
// variables in /proc.
//
// Idea     A launcher passes job and rank to each process in its environment, and the kernel shows
//          that environment to the same user. So a rank can detect that a local peer has ended or
//          never started, even before the peer has run any code of this library.
// Why      Before cards are exchanged, ranks cannot know each other. A launcher may end the job
//          without naming the rank that caused it.
// Holds    Nothing is written. No rank is reported if this process does not find itself. Ranks that
//          were never seen are reported only if another rank or the launcher is in this PID
//          namespace. Otherwise, each rank may have its own container.
// Next     run/job/sigterm_report.hpp, which checks while a job starts.
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
    /// `job` is the value of PMIX_NAMESPACE. `ranks` are the node's ranks, if known, including
    /// `me`; otherwise the observed ranks count. Tests pass another `folder`.
    RankProcesses(std::string_view job, std::vector<Rank> ranks, Rank me,
                  std::string folder = "/proc");

    /// Checks the processes now. Returns a text about missing ranks, or an empty one.
    [[nodiscard]] std::string missing();

  private:
    [[nodiscard]] Rank rank_of(std::string_view process) const;
    [[nodiscard]] bool all_are_there() const;
    void look_around();
    void add(Rank rank, std::string process);
    [[nodiscard]] bool sees_launcher() const;

    const std::string job_;  ///< as in an environment
    const bool ranks_known_;
    std::vector<Rank> ranks_;  ///< ascending
    const Rank me_;
    const std::string folder_;
    std::map<Rank, std::string> process_;  ///< number of each observed rank's process
};

/// Returns the node's ranks, including `me`, by the environment of mpirun or srun.
/// Empty if unknown.
[[nodiscard]] std::vector<Rank> node_ranks_by_environment(Rank me);

/// Returns true if `weft run` started this process, by the name of its job.
[[nodiscard]] bool started_by_own_launcher();

/// Returns the processes of the job that started this process. `me` is its rank.
[[nodiscard]] RankProcesses processes_of_this_node(Rank me);

}  // namespace weft::link
