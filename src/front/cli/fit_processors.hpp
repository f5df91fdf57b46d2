// SPDX-License-Identifier: BSD-3-Clause
// fit_processors.hpp - on which processors the ranks of a job may run, and two of them apart or
// together.
//
// Why      Launchers may bind each rank to processors of its own: then the ranks of a host do not
//          share any, and none can be made to.
// Next     fit_measure.hpp.
#pragma once

#include <sched.h>

#include <optional>
#include <vector>

#include "weft/weft.hpp"

namespace weft::front {

/// Ranks and processors of the host where most ranks share one.
struct Crowd {
    int ranks = 1;
    int processors = 1;

    [[nodiscard]] bool shares() const { return ranks > processors; }
};

class RankProcessors {
  public:
    /// Asks all ranks.
    explicit RankProcessors(Team world);

    [[nodiscard]] const Crowd& crowd() const { return crowd_; }
    /// One that both may use, if there is any.
    [[nodiscard]] std::optional<int> common(Rank a, Rank b) const;
    /// One for `rank` that leaves another one to the other; nothing if there is none.
    [[nodiscard]] std::optional<int> apart(Rank rank, Rank other) const;

  private:
    [[nodiscard]] const cpu_set_t& of(Rank rank) const {
        return allowed_[static_cast<std::size_t>(rank)];
    }

    std::vector<cpu_set_t> allowed_;  ///< by rank; empty sets where that is not known
    Crowd crowd_;
};

/// As long as it lives, the calling process runs on that processor.
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

}  // namespace weft::front
