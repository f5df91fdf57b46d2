// SPDX-License-Identifier: BSD-3-Clause
// plan_cache.hpp - chooses, makes and keeps the plans of a team.
//
// Idea     find_or_make() checks the arguments and chooses the forced or the predicted algorithm.
//          It returns the cached plan of this call and algorithm, or makes one (plan.hpp).
// Holds    A plan is kept while a call in flight may use it, or a peer that suspects a mismatch may
//          ask about one of its calls (run/execute/inquiry.hpp). A full cache drops the least
//          recently used plans, because counts, roots and user operations may differ in every call.
//          Ranks drop plans independently: a plan that is made again is identical. The choice
//          depends only on arguments that are equal on all ranks.
#pragma once

#include <array>
#include <map>
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

    /// Returns the plan of a call, valid until retire() drops it. `neighborhood` must be given for
    /// an exchange with the neighbors of a stencil, whose arguments must have been checked.
    [[nodiscard]] base::Result<const Plan*> find_or_make(
        const Call& call, Purpose purpose = Purpose::user_call,
        const Neighborhood* neighborhood = nullptr);

    /// Returns a barrier's plan, which is never dropped. `purpose`: `inserted` (uses the predicted
    /// algorithm even if one is forced) or `team_free` (publishes no data).
    [[nodiscard]] base::Result<const Plan*> barrier(Purpose purpose);

    /// Makes later calls of this collective use the algorithm `spec`, which must be equal on all
    /// ranks. An empty spec restores the algorithm of WEFT_<COLLECTIVE> or, if that is not set, the
    /// predicted one. Calls in flight keep their plans.
    base::Result<void> force(Collective collective, std::string_view spec);

    /// Returns true if the user has chosen the algorithm of the collective; equal on all ranks.
    [[nodiscard]] bool is_forced(Collective collective) const {
        return forced_[index_of(collective)].has_value();
    }

    /// Returns true if the plans exceed the memory limit and the caller should call retire().
    [[nodiscard]] bool is_full() const { return bytes_ >= bytes_max_; }
    /// Drops plans last used before epoch `before`, but keeps the most recently used half.
    void retire(Epoch before);
    [[nodiscard]] std::size_t size() const { return plans_.size(); }

    /// Returns true with WEFT_LOG=trace. Then all calls use find_or_make() and trace().
    [[nodiscard]] bool traces() const {
        return context_.log != nullptr && context_.log->wants(base::LogLevel::trace);
    }
    void trace(const Plan& plan) const;

    /// Returns the algorithm that a call would use.
    [[nodiscard]] base::Result<const ChosenAlgorithm*> choose(const Call& call) const;
    [[nodiscard]] const plan::Machine& machine() const { return context_.machine; }
    /// Returns all algorithms that the call could use, ordered by predicted time.
    [[nodiscard]] base::Result<plan::Choice> rank_algorithms(const Call& call) const {
        return run::rank_algorithms(machine(), context_.size, class_for(call));
    }

  private:
    /// Forced algorithm of a collective, or none. If its spec is invalid, each call fails.
    using Forced = std::optional<base::Result<ChosenAlgorithm>>;
    static constexpr std::size_t kPlanBytesMin = std::size_t{2} << 20;
    [[nodiscard]] static std::size_t index_of(Collective collective) {
        return static_cast<std::size_t>(collective);
    }
    [[nodiscard]] CallClass class_for(const Call& call) const;
    [[nodiscard]] base::Result<const ChosenAlgorithm*> choose_unforced(const Call& call) const;

    PlanContext context_;
    ReduceTable kernels_;
    using ForcedOf = std::array<Forced, collectives::kCollectives.size()>;  ///< by collective
    ForcedOf environment_;                                  ///< set by WEFT_<COLLECTIVE>
    ForcedOf forced_;                                       ///< in force; force() changes them
    mutable std::map<CallClass, ChosenAlgorithm> choices_;  ///< by rounded() class
    std::unordered_multimap<std::uint64_t, std::unique_ptr<Plan>> plans_;  ///< by plan_key()
    std::unique_ptr<Plan> inserted_barrier_;
    std::unique_ptr<Plan> team_free_barrier_;
    std::size_t bytes_ = 0;                  ///< size of all plans_
    std::size_t bytes_max_ = kPlanBytesMin;  ///< or twice the size that retire() kept, if larger
};

}  // namespace weft::run
