// SPDX-License-Identifier: BSD-3-Clause
// plan_cache.hpp - the plans of a team: chosen, made and kept.
//
// Idea     A call that has no plan yet gets one: its arguments are checked, an algorithm is taken
//          (forced, or chosen by predicted time), the plan is made (plan.hpp) and kept.
// Holds    A plan lives as long as its team: outstanding calls, and ranks that inquire about old
//          calls, may refer to it. Counts may be new in each call, so plans of calls with counts go
//          when nothing refers to them any more. All decisions are made from arguments that all
//          ranks know.
// Next     choice.hpp for the choice; team.hpp for the calls that find their plan without looking
//          here.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "run/reduce/reduce.hpp"
#include "run/runtime/choice.hpp"
#include "run/runtime/plan.hpp"

namespace weft::run {

class PlanCache {
  public:
    PlanCache(PlanContext context, const ReduceTable& kernels,
              std::vector<base::ForcedAlgorithm> forced);

    /// The plan of a call; a failure names the argument that cannot be used. Those of calls with
    /// counts live until retire() takes them.
    [[nodiscard]] base::Result<const Plan*> find(const Call& call);

    /// The barrier that the bank rule inserts: the library's choice, whatever is forced.
    [[nodiscard]] base::Result<const Plan*> inserted_barrier();
    /// The barrier that ends the team: every member waits in its own region.
    [[nodiscard]] base::Result<const Plan*> last_barrier();

    /// From now on calls of this collective use this spec; an empty one restores what the
    /// environment forces, or else the choice by prediction. Plans in use stay. The same on all
    /// ranks.
    base::Result<void> force(Collective collective, std::string_view spec);

    /// Whether so many plans of calls with counts are kept that it is time to retire() some.
    [[nodiscard]] bool crowded() const { return block_plans_ >= block_plans_most_; }
    /// Drops plans of calls with counts that no call from epoch `before` on has had.
    void retire(Epoch before);

    /// WEFT_LOG=trace: no call is taken for a warm one, so that each gets its line.
    [[nodiscard]] bool traces() const {
        return context_.log != nullptr && context_.log->wants(base::LogLevel::trace);
    }
    /// A line about a call that is made now.
    void trace(const Plan& plan) const;

    /// The algorithm that a call would use.
    [[nodiscard]] base::Result<const ChosenAlgorithm*> choose(const Call& call) const;

  private:
    /// What a plan is found by.
    struct Sought {
        const Call& call;
        std::string_view algorithm;
    };
    struct InOrder {
        using is_transparent = void;
        using Held = std::unique_ptr<Plan>;
        static Sought sought(const Held& plan) { return {plan->call.get(), plan->algorithm}; }
        static bool less(const Sought& a, const Sought& b);
        bool operator()(const Held& a, const Held& b) const { return less(sought(a), sought(b)); }
        bool operator()(const Held& a, const Sought& b) const { return less(sought(a), b); }
        bool operator()(const Sought& a, const Held& b) const { return less(a, sought(b)); }
    };
    /// A forced algorithm; a failure is one of each call that it is forced on.
    using Forced = std::optional<base::Result<ChosenAlgorithm>>;
    static constexpr std::size_t kBlockPlans = 64;  ///< are kept without asking

    base::Result<const Plan*> keep(const Call& call, const ChosenAlgorithm& algorithm);

    PlanContext context_;
    Chooser chooser_;
    ReduceTable kernels_;
    std::array<Forced, collectives::kCollectives.size()> environment_;  ///< by WEFT_<COLLECTIVE>
    std::array<Forced, collectives::kCollectives.size()> forced_;
    std::set<std::unique_ptr<Plan>, InOrder> plans_;
    std::unique_ptr<Plan> last_barrier_;
    std::size_t block_plans_ = 0;  ///< of calls with counts
    std::size_t block_plans_most_ = kBlockPlans;
};

}  // namespace weft::run
