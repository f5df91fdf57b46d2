// SPDX-License-Identifier: BSD-3-Clause
// optimum.hpp - the schedule of least cost in the pipelining postal model, for any number of ranks.
//
// Idea     A stage in which a rank sends b messages costs latency + b * message, so costs add up
//          and do not depend on the order of stages. F(n), the least cost of a factored schedule,
//          comes from F of the divisors, for all numbers up to n in one sieve. A split or merge is
//          then a factored schedule of fewer ranks and two stages more; few of them can still win.
// Holds    Exact: the same cost as the cheapest of all schedules that enumerate.hpp names.
// Next     Ruefenacht et al., section 3, for the model.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/notation/enumerate.hpp"

namespace weft::collectives {

struct StageCost {
    std::int64_t latency = 0;  ///< alpha_p: once for each stage
    std::int64_t message = 0;  ///< alpha_r: for each message that a rank sends in a stage
};

/// What the model charges: for each stage, the messages of the rank that sends most.
[[nodiscard]] std::int64_t cost_of(const Schedule& schedule, const StageCost& cost);

struct Optimum {
    Schedule schedule;
    ScheduleFamily family = ScheduleFamily::factored;
    std::int64_t cost = 0;
    std::int64_t factored = 0;  ///< of the best factored schedule
    /// Of the best split and merge, where they are cheaper than all that were looked at before.
    std::optional<std::int64_t> split;
    std::optional<std::int64_t> merged;
};

/// Factors whose product is at least `size`, with the stages that cost least: for algorithms to
/// which it does no harm to get a contribution twice. Never more than a schedule of any kind costs.
[[nodiscard]] std::vector<Rank> cheapest_cover(Rank size, const StageCost& cost);

/// Answers for all sizes up to the one it was made for.
class OptimumSearch {
  public:
    OptimumSearch(Rank size_max, const StageCost& cost);

    /// 1 <= size <= size_max.
    [[nodiscard]] Optimum find(Rank size) const;
    [[nodiscard]] std::int64_t factored_cost(Rank size) const {
        return least_[static_cast<std::size_t>(size)];
    }

  private:
    [[nodiscard]] std::int64_t stage(Rank messages) const {
        return cost_.latency + messages * cost_.message;
    }
    void append_factors(Rank size, Schedule& schedule) const;
    void try_splits(Rank size, Optimum& best) const;
    void try_merges(Rank size, Optimum& best) const;
    void try_merge(Rank size, Rank inner, Optimum& best) const;

    StageCost cost_;
    std::vector<std::int64_t> least_;  ///< F
    std::vector<Rank> last_;           ///< a factor of the best schedule
};

}  // namespace weft::collectives
