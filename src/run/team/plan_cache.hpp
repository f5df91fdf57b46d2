// SPDX-License-Identifier: BSD-3-Clause
// plan_cache.hpp - the plans of a team: chosen, made and kept.
//
// Idea     For a call without a plan, the cache checks its arguments, takes a forced or a predicted
//          algorithm, makes the plan (plan.hpp) and keeps it.
// Holds    A plan stays while calls in flight or inquiries about old calls may refer to it.
//          Counts, roots and users' operations may be new in each call. So if there are many
//          plans, those that were not used for longest are dropped. Each rank decides this alone,
//          because a plan that is made again is equal. All other decisions depend only on
//          arguments that all ranks know.
// Next     choice.hpp for the choice; team.hpp for calls that find their plan without this cache.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

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

    /// Returns the plan of a call, valid until retire() drops it. A failure names
    /// the invalid argument.
    [[nodiscard]] base::Result<const Plan*> find(const Call& call,
                                                 Purpose purpose = Purpose::itself);
    [[nodiscard]] base::Result<const Plan*> find(const Call& call,
                                                 const Neighborhood& neighborhood);

    /// Returns the barrier that the bank rule inserts, always with the library's choice.
    [[nodiscard]] base::Result<const Plan*> inserted_barrier();
    /// Returns the barrier that ends the team. Every member waits in its own region.
    [[nodiscard]] base::Result<const Plan*> last_barrier();

    /// Makes later calls of this collective use a spec. An empty spec restores the environment's
    /// choice, or else the predicted one. Plans in use stay. Must be equal on all ranks.
    base::Result<void> force(Collective collective, std::string_view spec);

    /// Returns true if plans use so much memory that retire() should be called.
    [[nodiscard]] bool crowded() const { return bytes_ >= bytes_most_; }
    /// Drops plans not used since epoch `before`, except the most recently used half.
    void retire(Epoch before);
    [[nodiscard]] std::size_t size() const { return plans_.size(); }

    /// Returns true with WEFT_LOG=trace. Then each call must be looked up here, to log a line.
    [[nodiscard]] bool traces() const {
        return context_.log != nullptr && context_.log->wants(base::LogLevel::trace);
    }
    /// Logs a line about a call.
    void trace(const Plan& plan) const;

    /// Returns the algorithm that a call would use.
    [[nodiscard]] base::Result<const ChosenAlgorithm*> choose(const Call& call) const;
    /// Returns the costs of puts between the team's members.
    [[nodiscard]] const plan::Machine& machine() const { return context_.machine; }
    /// Returns all algorithms that the call could use, by predicted time.
    [[nodiscard]] base::Result<plan::Choice> rank(const Call& call) const {
        return chooser_.rank_all(call);
    }

  private:
    /// A forced algorithm. A failure is returned by each call that it is forced on.
    using Forced = std::optional<base::Result<ChosenAlgorithm>>;
    /// Limit below which no plan is dropped.
    static constexpr std::size_t kBytes = std::size_t{2} << 20;

    /// Adds a plan that has been made, and logs `reason`.
    base::Result<const Plan*> keep(std::uint64_t key, base::Result<std::unique_ptr<Plan>> made,
                                   std::string_view reason);
    /// Makes a plan at the first call, and keeps it while the team lives.
    base::Result<const Plan*> own_plan(std::unique_ptr<Plan>& held, Purpose purpose,
                                       const Call& call,
                                       base::Result<const ChosenAlgorithm*> algorithm);

    PlanContext context_;
    Chooser chooser_;
    ReduceTable kernels_;
    /// Set by WEFT_<COLLECTIVE>.
    std::array<Forced, collectives::kCollectives.size()> environment_;
    std::array<Forced, collectives::kCollectives.size()> forced_;
    std::unordered_multimap<std::uint64_t, std::unique_ptr<Plan>> plans_;  ///< by plan_key()
    std::unique_ptr<Plan> inserted_barrier_;
    std::unique_ptr<Plan> last_barrier_;
    std::size_t bytes_ = 0;  ///< size of all plans_
    std::size_t bytes_most_ = kBytes;
};

}  // namespace weft::run
