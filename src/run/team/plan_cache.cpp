// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/plan_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace weft::run {

PlanCache::PlanCache(PlanContext context, const ReduceTable& kernels,
                     std::vector<base::ForcedAlgorithm> forced)
    : context_(std::move(context)),
      chooser_(context_.machine, context_.size, context_.tuning, context_.provider,
               context_.preference, context_.choices),
      kernels_(kernels) {
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
    if (!forced) return chooser_.choose(call);
    if (!*forced) return forced->failure().within(traits_of(call.collective).name);
    return &**forced;
}

base::Result<const Plan*> PlanCache::find_or_make(const Call& call, Purpose purpose) {
    const auto algorithm = WEFT_TRY(choose(call));
    const std::uint64_t key = plan_key(call);
    for (auto [at, end] = plans_.equal_range(key); at != end; ++at) {
        const Plan& plan = *at->second;
        if (plan.purpose == purpose && plan.algorithm == algorithm->text && plan.serves(call))
            return &plan;
    }
    return keep(key, make_plan(context_, kernels_, call, *algorithm, purpose), algorithm->reason);
}

base::Result<const Plan*> PlanCache::find_or_make(const Call& call,
                                                  const Neighborhood& neighborhood) {
    const std::uint64_t key = plan_key(call);
    for (auto [at, end] = plans_.equal_range(key); at != end; ++at) {
        const Plan& plan = *at->second;
        if (plan.neighborhood == neighborhood && plan.serves(call)) return &plan;
    }
    return keep(key, make_plan(context_, call, neighborhood), "the stencil's method");
}

base::Result<const Plan*> PlanCache::keep(std::uint64_t key,
                                          base::Result<std::unique_ptr<Plan>> made,
                                          std::string_view reason) {
    if (!made) return made.failure();
    bytes_ += (*made)->bytes();
    if (context_.log != nullptr && context_.log->writes_shared_line(/*first=*/context_.rank == 0))
        context_.log->info(
            fmt::format("{}: {}: {}", context_.name, (*made)->program.description, reason));
    return plans_.emplace(key, *std::move(made))->second.get();
}

base::Result<const Plan*> PlanCache::barrier(Purpose purpose) {
    const bool inserted = purpose == Purpose::inserted;
    std::unique_ptr<Plan>& held = inserted ? inserted_barrier_ : team_free_barrier_;
    if (held != nullptr) return held.get();
    const auto algorithm =
        WEFT_TRY(inserted ? chooser_.choose(Call::barrier()) : choose(Call::barrier()));
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
