// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/plan_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>

namespace weft::run {

namespace {

std::strong_ordering compare_calls(const Call& a, const Call& b) {
    const auto scalars = [](const Call& call) {
        return std::tuple(call.collective, call.type, call.op, call.root, call.count,
                          call.user.get());
    };
    if (const std::strong_ordering order = scalars(a) <=> scalars(b); order != 0) return order;
    if (const auto order = compare(a.in_blocks, b.in_blocks); order != 0) return order;
    return compare(a.out_blocks, b.out_blocks);
}

std::size_t index_of(Collective collective) {
    return static_cast<std::size_t>(collective);
}

bool has_counts(const Plan& plan) {
    return traits_of(plan.call.get().collective).has_counts();
}

}  // namespace

bool PlanCache::InOrder::less(const Sought& a, const Sought& b) {
    const std::strong_ordering order = compare_calls(a.call, b.call);
    return order < 0 || (order == 0 && a.algorithm < b.algorithm);
}

PlanCache::PlanCache(PlanContext context, const ReduceTable& kernels,
                     std::vector<base::ForcedAlgorithm> forced)
    : context_(std::move(context)), chooser_(context_.machine, context_.size), kernels_(kernels) {
    for (const base::ForcedAlgorithm& one : forced) {
        if (const auto* const traits = collectives::find_collective(one.name))
            environment_[index_of(traits->collective)] =
                parse_algorithm(one.spec, base::algorithm_variable(one.name) + " sets it");
    }
    forced_ = environment_;
}

base::Result<void> PlanCache::force(Collective collective, std::string_view spec) {
    Forced& forced = forced_[index_of(collective)];
    if (spec.empty()) {
        forced = environment_[index_of(collective)];
        return {};
    }
    auto parsed = parse_algorithm(spec, "the program sets it");
    if (!parsed) return parsed.failure();
    forced = *std::move(parsed);
    return {};
}

base::Result<const ChosenAlgorithm*> PlanCache::choose(const Call& call) const {
    if (auto checked = check_arguments(call, context_.rank, context_.size); !checked)
        return checked.failure();
    const Forced& forced = forced_[index_of(call.collective)];
    if (!forced) return chooser_.choose(call);
    if (!*forced) return forced->failure().within(traits_of(call.collective).name);
    return &**forced;
}

base::Result<const Plan*> PlanCache::find(const Call& call) {
    const auto algorithm = choose(call);
    if (!algorithm) return algorithm.failure();
    return keep(call, **algorithm);
}

base::Result<const Plan*> PlanCache::inserted_barrier() {
    const Call barrier = Call::barrier();
    const auto algorithm = chooser_.choose(barrier);
    if (!algorithm) return algorithm.failure();
    return keep(barrier, **algorithm);
}

base::Result<const Plan*> PlanCache::last_barrier() {
    const Call barrier = Call::barrier();
    const auto algorithm = choose(barrier);
    if (!algorithm) return algorithm.failure();
    auto plan = make_plan(context_, kernels_, barrier, **algorithm, PeerReads::none);
    if (!plan) return plan.failure();
    last_barrier_ = *std::move(plan);
    return last_barrier_.get();
}

base::Result<const Plan*> PlanCache::keep(const Call& call, const ChosenAlgorithm& algorithm) {
    const auto found = plans_.find(Sought{call, algorithm.text});
    if (found != plans_.end()) return found->get();
    auto made = make_plan(context_, kernels_, call, algorithm, PeerReads::allowed);
    if (!made) return made.failure();
    if (has_counts(**made)) ++block_plans_;
    if (context_.log != nullptr && context_.log->informs(context_.rank == 0))
        context_.log->info(fmt::format("{}: {}: {}", context_.name, (*made)->program.description,
                                       algorithm.reason));
    return plans_.insert(*std::move(made)).first->get();
}

void PlanCache::trace(const Plan& plan) const {
    if (traces())
        context_.log->trace(fmt::format("{}: {}", context_.name, plan.program.description));
}

void PlanCache::retire(Epoch before) {
    block_plans_ -= std::erase_if(
        plans_, [&](const auto& plan) { return has_counts(*plan) && plan->used < before; });
    block_plans_most_ = std::max(kBlockPlans, 2 * block_plans_);
}

}  // namespace weft::run
