// SPDX-License-Identifier: BSD-3-Clause
// fit_ranks.hpp - the ranks that `weft fit` measures: their processors, and phases in which some of
// them work and the others sleep.
//
// Why      A waiting rank would take processors from the timed ones. Launchers may bind each rank
//          to its own processors. Then the ranks of a host share none, and cannot be made to share
//          one.
// Next     fit_measure.hpp.
#pragma once

#include <sched.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "weft/weft.hpp"

namespace weft::tools {

/// Ranks and processors of the host with the most ranks per processor.
struct Crowd {
    int ranks = 1;
    int processors = 1;

    [[nodiscard]] bool shares() const { return ranks > processors; }
};

class RankProcessors {
  public:
    /// Collective: asks all ranks.
    explicit RankProcessors(Team world);

    [[nodiscard]] const Crowd& crowd() const { return crowd_; }
    /// Returns a processor that both may use, if there is one.
    [[nodiscard]] std::optional<int> common(Rank a, Rank b) const;
    /// Returns a processor for `rank` that leaves another one for `other`; nothing if impossible.
    [[nodiscard]] std::optional<int> apart(Rank rank, Rank other) const;

  private:
    [[nodiscard]] const cpu_set_t& of(Rank rank) const {
        return allowed_[static_cast<std::size_t>(rank)];
    }

    std::vector<cpu_set_t> allowed_;  ///< by rank; empty set: unknown
    Crowd crowd_;
};

/// The ranks of the job, with peers of rank 0.
class FitRanks {
  public:
    explicit FitRanks(Team world);

    [[nodiscard]] Team world() const { return world_; }
    [[nodiscard]] const RankProcessors& processors() const { return processors_; }
    /// Local peers of rank 0, and ranks of other nodes, with a different node for each if possible.
    [[nodiscard]] const std::vector<Rank>& local_peers() const { return local_peers_; }
    [[nodiscard]] const std::vector<Rank>& remote_peers() const { return remote_peers_; }
    /// Count of exchanges; equal on all ranks between phases.
    [[nodiscard]] std::uint64_t& turn() { return turn_; }

    /// Runs `work` on rank 0 and these peers; the others poll for the end only from time to time.
    /// shared: the processor of both ranks.
    void while_others_sleep(const std::vector<Rank>& peers, const std::function<void()>& work,
                            std::optional<int> shared = {});
    /// Runs `work` on rank 0 and the peer, if there is one, with a team of the two.
    void with_pair(std::optional<Rank> peer, const std::function<void(Team)>& work);
    /// Lets all ranks sleep.
    void pause(double seconds);

  private:
    void find_peers();

    Team world_;
    Memory memory_;
    std::uint64_t* wake_;  ///< of sleeping ranks
    std::uint64_t turn_ = 0;
    std::uint64_t phase_ = 0;
    RankProcessors processors_;
    std::vector<Rank> local_peers_;
    std::vector<Rank> remote_peers_;
};

}  // namespace weft::tools
