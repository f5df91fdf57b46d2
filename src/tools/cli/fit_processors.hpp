// SPDX-License-Identifier: BSD-3-Clause
// fit_processors.hpp - processors on which the ranks of a job may run, and choices for two ranks.
//
// Why      Launchers may bind each rank to its own processors. Then the ranks of a host share none,
//          and cannot be made to share one.
// Next     fit_measure.hpp.
#pragma once

#include <sched.h>

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

/// Binds the calling process to the processor during the object's life.
class OnProcessor {
  public:
    explicit OnProcessor(int processor);
    OnProcessor(const OnProcessor&) = delete;
    OnProcessor& operator=(const OnProcessor&) = delete;
    ~OnProcessor();

  private:
    cpu_set_t before_;
    bool moved_ = false;
};

}  // namespace weft::tools
