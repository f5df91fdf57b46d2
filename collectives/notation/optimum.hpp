// SPDX-License-Identifier: BSD-3-Clause
// optimum.hpp - cheapest schedule in the pipelining postal model, for any number of ranks.
//
// Idea     A stage in which a rank sends b messages costs latency + b * message. So costs add up
//          and do not depend on the order of stages. F(n), the least cost of a factored
//          schedule, follows from F of the divisors, in one sieve for all numbers up to n. A
//          split or merge is a factored schedule of fewer ranks with two more stages; the search
//          skips those that cannot be cheaper.
// Holds    Exact: the cost equals the least cost of all schedules of enumerate.hpp.
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

/// Returns the sum over the stages of latency + message * (messages of the busiest sender).
[[nodiscard]] std::int64_t cost_of(const Schedule& schedule, const StageCost& cost);

struct Optimum {
    Schedule schedule;
    ScheduleFamily family = ScheduleFamily::factored;
    std::int64_t cost = 0;
    std::int64_t factored = 0;  ///< cost of the best factored schedule
    /// Costs of the best split and the best merge; nullopt unless cheaper than all schedules that
    /// find() tries before (factored, then merges, then splits).
    std::optional<std::int64_t> split;
    std::optional<std::int64_t> merged;
};

/// Returns the factors with the cheapest stages whose product is at least `size`, for algorithms
/// that may receive a contribution twice. The cost is at most the cost of any schedule.
[[nodiscard]] std::vector<Rank> cheapest_cover(Rank size, const StageCost& cost);

/// Finds optimal schedules for all sizes up to `size_max`.
class OptimumSearch {
  public:
    OptimumSearch(Rank size_max, const StageCost& cost);

    /// Requires 1 <= size <= size_max.
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
    std::vector<std::int64_t> least_;  ///< F, by size
    std::vector<Rank> factor_;         ///< one factor of the cheapest factored schedule, by size
};

}  // namespace weft::collectives
