// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/plan_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "collectives/v_collective.hpp"

namespace weft::run {

PlanCache::PlanCache(PlanContext context, const ReduceTable& kernels,
                     std::vector<base::ForcedAlgorithm> forced)
    : context_(std::move(context)), kernels_(kernels) {
    for (const base::ForcedAlgorithm& variable : forced) {
        if (const auto* const traits = collectives::find_collective(variable.name))
            environment_[index_of(traits->collective)] = parse_algorithm(
                variable.spec, base::algorithm_variable(variable.name) + " sets it");
    }
    forced_ = environment_;
}

base::Result<void> PlanCache::force(Collective collective, std::string_view spec) {
    Forced& forced = forced_[index_of(collective)];
    if (spec.empty()) {
        forced = environment_[index_of(collective)];
        return {};
    }
    auto parsed = WEFT_TRY(parse_algorithm(spec, "the program forces it"));
    WEFT_TRY(check_algorithm(collective, parsed));
    forced = std::move(parsed);
    return {};
}

base::Result<const ChosenAlgorithm*> PlanCache::choose(const Call& call) const {
    WEFT_TRY(check_arguments(call, context_.rank, context_.size));
    const Forced& forced = forced_[index_of(call.collective)];
    if (!forced) return choose_unforced(call);
    if (!*forced) return forced->failure().within(traits_of(call.collective).name);
    return &**forced;
}

CallClass PlanCache::class_for(const Call& call) const {
    CallClass call_class = class_of(call);
    // A team cannot exist without its barrier, so no limit applies to it.
    if (call.collective != Collective::barrier) call_class.preference = context_.preference;
    return call_class;
}

base::Result<const ChosenAlgorithm*> PlanCache::choose_unforced(const Call& call) const {
    static const ChosenAlgorithm pairwise{{.name = std::string(collectives::kPairwiseAlgorithm)},
                                          std::string(collectives::kPairwiseAlgorithm),
                                          "the only algorithm"};
    if (traits_of(call.collective).has_pairwise_counts()) return &pairwise;
    const CallClass call_class = rounded(class_for(call));
    if (const auto known = choices_.find(call_class); known != choices_.end())
        return &known->second;
    constexpr std::size_t kChoicesMax = 4096;  // users' elements can have any size
    if (choices_.size() >= kChoicesMax) choices_.clear();
    return &(choices_[call_class] = WEFT_TRY(choose_algorithm(context_, call_class)));
}

base::Result<const Plan*> PlanCache::find_or_make(const Call& call, Purpose purpose,
                                                  const Neighborhood* neighborhood) {
    static const ChosenAlgorithm by_stencil{.reason = "the stencil's method"};
    const ChosenAlgorithm* const algorithm =
        neighborhood != nullptr ? &by_stencil : WEFT_TRY(choose(call));
    static const Neighborhood none;
    const Neighborhood& asked = neighborhood != nullptr ? *neighborhood : none;
    const std::uint64_t key = plan_key(call);
    for (auto [at, end] = plans_.equal_range(key); at != end; ++at) {
        const Plan& plan = *at->second;
        if (plan.purpose == purpose && plan.algorithm == algorithm->text &&
            plan.neighborhood == asked && plan.serves(call))
            return &plan;
    }
    auto plan = WEFT_TRY(neighborhood != nullptr
                             ? make_plan(context_, call, asked)
                             : make_plan(context_, kernels_, call, *algorithm, purpose));
    bytes_ += plan->bytes();
    if (context_.log != nullptr && context_.log->writes_shared_line(/*first=*/context_.rank == 0))
        context_.log->info(
            fmt::format("{}: {}: {}", context_.name, plan->program.description, algorithm->reason));
    return plans_.emplace(key, std::move(plan))->second.get();
}

base::Result<const Plan*> PlanCache::barrier(Purpose purpose) {
    const bool inserted = purpose == Purpose::inserted;
    std::unique_ptr<Plan>& held = inserted ? inserted_barrier_ : team_free_barrier_;
    if (held != nullptr) return held.get();
    const auto algorithm =
        WEFT_TRY(inserted ? choose_unforced(Call::barrier()) : choose(Call::barrier()));
    held = WEFT_TRY(make_plan(context_, kernels_, Call::barrier(), *algorithm, purpose));
    return held.get();
}

void PlanCache::trace(const Plan& plan) const {
    if (traces())
        context_.log->trace(fmt::format("{}: {}", context_.name, plan.program.description));
}

void PlanCache::retire(Epoch before) {
    std::vector<Epoch> uses;
    for (const auto& [key, plan] : plans_) uses.push_back(plan->used);
    const auto middle = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 2);
    std::nth_element(uses.begin(), middle, uses.end());
    const Epoch oldest_kept = uses.empty() ? before : std::min(before, *middle);
    std::erase_if(plans_, [&](const auto& held) {
        const Plan& plan = *held.second;
        if (plan.used >= oldest_kept) return false;
        bytes_ -= plan.bytes();
        return true;
    });
    // If most plans are in use, doubling the limit avoids a retire() in every call.
    bytes_max_ = std::max(kPlanBytesMin, 2 * bytes_);
}

}  // namespace weft::run
