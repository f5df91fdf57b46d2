// SPDX-License-Identifier: BSD-3-Clause
// rank_processes.hpp - which ranks of this node have a process, by what launchers leave in /proc.
//
// Idea     A launcher gives each process its job and its rank in the environment, and the kernel
//          shows that environment to the same user. So a rank can tell of its mates, also of those
//          that have run no line of this library, that one has gone or was never there.
// Why      Before cards are exchanged ranks know nothing of each other, and a launcher may end the
//          job without naming the rank whose end was the cause.
// Holds    Nothing is written. Nothing is said where it cannot be known: if this process does not
//          find itself, and, of ranks that were never seen, if neither another rank nor the
//          launcher is in its PID namespace: then each rank may have a container of its own.
// Next     run/runtime/start_watch.hpp, which looks while a job starts.
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
    /// job: the value of PMIX_NAMESPACE. ranks: those of this node, if known; else those that are
    /// seen count. me: one of them. folder: /proc, but in tests.
    RankProcesses(std::string_view job, std::vector<Rank> ranks, Rank me,
                  std::string folder = "/proc");

    /// Looks who is there now, and gives what is to be said of those who are not; empty: nothing.
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
    std::map<Rank, std::string> process_;  ///< of each rank that was seen, by its number
};

/// The ranks of this node, `me` among them, by what mpirun and srun leave in the environment;
/// empty: not known.
[[nodiscard]] std::vector<Rank> node_ranks_by_environment(Rank me);

/// Whether `weft run` has started this process, by the name of its job.
[[nodiscard]] bool started_by_own_launcher();

/// Of the job that has started this process; me: its rank.
[[nodiscard]] RankProcesses processes_of_this_node(Rank me);

}  // namespace weft::link
