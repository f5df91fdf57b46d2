// SPDX-License-Identifier: BSD-3-Clause
// plan_cache.hpp - the plans of a team: chosen, made and kept.
//
// Idea     A call that has no plan yet gets one: its arguments are checked, an algorithm is taken
//          (forced, or chosen by predicted time), the plan is made (plan.hpp) and kept.
// Holds    A plan stays as long as anything refers to it: calls that are not complete, and ranks
//          that inquire about old calls. Counts, roots and users' operations may be new in each
//          call, so of the other plans those that were not used for longest go when there are many:
//          each rank by itself, for a plan that is made again is the same. All decisions are made
//          from arguments that all ranks know.
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

    /// The plan of a call; a failure names the argument that cannot be used. It lives until
    /// retire() takes it.
    [[nodiscard]] base::Result<const Plan*> find(const Call& call,
                                                 Purpose purpose = Purpose::itself);

    /// The barrier that the bank rule inserts: the library's choice, whatever is forced.
    [[nodiscard]] base::Result<const Plan*> inserted_barrier();
    /// The barrier that ends the team: every member waits in its own region.
    [[nodiscard]] base::Result<const Plan*> last_barrier();

    /// From now on calls of this collective use this spec; an empty one restores what the
    /// environment forces, or else the choice by prediction. Plans in use stay. The same on all
    /// ranks.
    base::Result<void> force(Collective collective, std::string_view spec);

    /// Whether plans take so much memory that it is time to retire() some.
    [[nodiscard]] bool crowded() const { return bytes_ >= bytes_most_; }
    /// Drops plans that no call from epoch `before` on has had, but not those that were used last.
    void retire(Epoch before);
    [[nodiscard]] std::size_t size() const { return plans_.size(); }

    /// WEFT_LOG=trace: no call is taken for a warm one, so that each gets its line.
    [[nodiscard]] bool traces() const {
        return context_.log != nullptr && context_.log->wants(base::LogLevel::trace);
    }
    /// A line about a call that is made now.
    void trace(const Plan& plan) const;

    /// The algorithm that a call would use.
    [[nodiscard]] base::Result<const ChosenAlgorithm*> choose(const Call& call) const;
    /// What puts cost where the team runs.
    [[nodiscard]] const plan::Machine& machine() const { return context_.machine; }
    /// All that it could use, by predicted time.
    [[nodiscard]] base::Result<plan::Choice> rank(const Call& call) const {
        return chooser_.rank_all(class_of(call));
    }

  private:
    /// What a plan is found by.
    struct Sought {
        const Call& call;
        std::string_view algorithm;
        Purpose purpose;
    };
    struct InOrder {
        using is_transparent = void;
        using Held = std::unique_ptr<Plan>;
        static Sought sought(const Held& plan) {
            return {plan->call.get(), plan->algorithm, plan->purpose};
        }
        static bool less(const Sought& a, const Sought& b);
        bool operator()(const Held& a, const Held& b) const { return less(sought(a), sought(b)); }
        bool operator()(const Held& a, const Sought& b) const { return less(sought(a), b); }
        bool operator()(const Sought& a, const Held& b) const { return less(a, sought(b)); }
    };
    /// A forced algorithm; a failure is one of each call that it is forced on.
    using Forced = std::optional<base::Result<ChosenAlgorithm>>;
    static constexpr std::size_t kBytes = std::size_t{2} << 20;  ///< are kept without asking

    /// A plan for the team's whole life, made at the first call.
    base::Result<const Plan*> own_plan(std::unique_ptr<Plan>& held, Purpose purpose,
                                       const Call& call,
                                       base::Result<const ChosenAlgorithm*> algorithm);

    PlanContext context_;
    Chooser chooser_;
    ReduceTable kernels_;
    std::array<Forced, collectives::kCollectives.size()> environment_;  ///< by WEFT_<COLLECTIVE>
    std::array<Forced, collectives::kCollectives.size()> forced_;
    std::set<std::unique_ptr<Plan>, InOrder> plans_;
    std::unique_ptr<Plan> inserted_barrier_;
    std::unique_ptr<Plan> last_barrier_;
    std::size_t bytes_ = 0;  ///< of all in plans_
    std::size_t bytes_most_ = kBytes;
};

}  // namespace weft::run
