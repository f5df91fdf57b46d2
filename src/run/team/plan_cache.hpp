// SPDX-License-Identifier: BSD-3-Clause
// plan_cache.hpp - chooses, makes and keeps the plans of a team.
//
// Idea     For a call without a plan, the cache checks the arguments, chooses the forced or the
//          predicted algorithm, makes the plan (plan.hpp) and keeps it.
// Holds    A plan stays while calls in flight, or watchdogs' inquiries about old calls, may refer
//          to it. Counts, roots and users' operations may be new in each call, so the cache drops
//          the least recently used plans when it is full. Ranks drop plans independently, since
//          a new plan is equal. Other decisions depend only on arguments equal on all ranks.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "run/reduce/reduce.hpp"
#include "run/team/choice.hpp"
#include "run/team/plan.hpp"

namespace weft::run {

class PlanCache {
  public:
    PlanCache(PlanContext context, const ReduceTable& kernels,
              std::vector<base::ForcedAlgorithm> forced);

    /// Returns the plan of a call, valid until retire() drops it. A failure names the argument.
    [[nodiscard]] base::Result<const Plan*> find(const Call& call,
                                                 Purpose purpose = Purpose::itself);
    [[nodiscard]] base::Result<const Plan*> find(const Call& call,
                                                 const Neighborhood& neighborhood);

    /// Returns the plan of a barrier, which lives until the team ends. Purpose::inserted: always
    /// with the predicted algorithm. Purpose::team_free: without published data.
    [[nodiscard]] base::Result<const Plan*> barrier(Purpose purpose);

    /// Makes later calls of this collective use the algorithm `spec`, which must be equal on all
    /// ranks. An empty spec restores the algorithm of the environment variable, or without one, of
    /// the prediction. Calls in flight keep their plans.
    base::Result<void> force(Collective collective, std::string_view spec);

    /// Returns true if the user has chosen the algorithm of the collective; equal on all ranks.
    [[nodiscard]] bool is_forced(Collective collective) const {
        return forced_[static_cast<std::size_t>(collective)].has_value();
    }

    /// Returns true if plans use so much memory that the caller should call retire().
    [[nodiscard]] bool is_full() const { return bytes_ >= bytes_most_; }
    /// Drops plans last used before epoch `before`, but keeps the most recently used half.
    void retire(Epoch before);
    [[nodiscard]] std::size_t size() const { return plans_.size(); }

    /// Returns true with WEFT_LOG=trace. Then the team calls find() and trace() for every call.
    [[nodiscard]] bool traces() const {
        return context_.log != nullptr && context_.log->wants(base::LogLevel::trace);
    }
    /// With WEFT_LOG=trace, logs a line about a call of this plan.
    void trace(const Plan& plan) const;

    /// Returns the algorithm that a call would use.
    [[nodiscard]] base::Result<const ChosenAlgorithm*> choose(const Call& call) const;
    /// Returns the costs of puts between the team's members.
    [[nodiscard]] const plan::Machine& machine() const { return context_.machine; }
    /// Returns all algorithms that the call could use, ordered by predicted time.
    [[nodiscard]] base::Result<plan::Choice> rank(const Call& call) const {
        return chooser_.rank_all(call);
    }

  private:
    /// Forced algorithm of a collective, or none. If its spec is invalid, each call fails.
    using Forced = std::optional<base::Result<ChosenAlgorithm>>;
    /// Size of all plans, in bytes, below which no plan is dropped.
    static constexpr std::size_t kBytes = std::size_t{2} << 20;

    /// Adds a new plan, and logs it with `reason`. Returns it, or the failure of `made`.
    base::Result<const Plan*> keep(std::uint64_t key, base::Result<std::unique_ptr<Plan>> made,
                                   std::string_view reason);

    PlanContext context_;
    Chooser chooser_;
    ReduceTable kernels_;
    /// Set by WEFT_<COLLECTIVE>; by collective.
    std::array<Forced, collectives::kCollectives.size()> environment_;
    std::array<Forced, collectives::kCollectives.size()> forced_;
    std::unordered_multimap<std::uint64_t, std::unique_ptr<Plan>> plans_;  ///< by plan_key()
    std::unique_ptr<Plan> inserted_barrier_;
    std::unique_ptr<Plan> team_free_barrier_;
    std::size_t bytes_ = 0;            ///< size of all plans_
    std::size_t bytes_most_ = kBytes;  ///< limit of bytes_; grows if plans in use exceed it
};

}  // namespace weft::run
