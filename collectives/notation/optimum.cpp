// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/notation/optimum.hpp"

#include <limits>
#include <map>

namespace weft::collectives {

std::int64_t cost_of(const Schedule& schedule, const StageCost& cost) {
    std::int64_t sum = 0;
    for (const Stage& stage : schedule) {
        std::int64_t messages = 0;
        switch (stage.kind) {
            case StageKind::factor:
            case StageKind::scatter:
                messages = stage.base - 1;
                break;
            case StageKind::gather:
                messages = 1;
                break;
            case StageKind::merge:  // a remainder sends to every member of a group
                messages = stage.base;
                break;
            case StageKind::release:
                messages = stage.base - 1 + (stage.remainders + stage.groups - 1) / stage.groups;
                break;
        }
        sum += cost.latency + messages * cost.message;
    }
    return sum;
}

namespace {

/// Finds the cheapest factors whose product is at least a size, by recursion on the first factor.
class CoverSearch {
  public:
    explicit CoverSearch(const StageCost& cost) : cost_(cost) {}

    struct Best {
        std::int64_t cost = 0;  ///< cost of all factors
        Rank factor = 1;        ///< first factor
    };
    Best find(Rank size) {
        if (size <= 1) return {};
        if (const auto known = known_.find(size); known != known_.end()) return known->second;
        Best best{std::numeric_limits<std::int64_t>::max(), size};
        Rank left_before = 0;
        for (Rank factor = 2; factor <= size; ++factor) {
            const std::int64_t stage = cost_.latency + (factor - 1) * cost_.message;
            if (stage >= best.cost) break;
            // A larger factor with an equal rest only costs more.
            const Rank left = (size - 1) / factor + 1;
            if (left == left_before) continue;
            left_before = left;
            const std::int64_t all = stage + find(left).cost;
            if (all < best.cost) best = {all, factor};
        }
        known_[size] = best;
        return best;
    }

  private:
    StageCost cost_;
    std::map<Rank, Best> known_;
};

}  // namespace

std::vector<Rank> cheapest_cover(Rank size, const StageCost& cost) {
    CoverSearch search(cost);
    std::vector<Rank> factors;
    while (size > 1) {
        factors.push_back(search.find(size).factor);
        size = (size - 1) / factors.back() + 1;
    }
    return factors;
}

OptimumSearch::OptimumSearch(Rank size_max, const StageCost& cost) : cost_(cost) {
    const auto end = static_cast<std::size_t>(size_max) + 1;
    least_.assign(end, std::numeric_limits<std::int64_t>::max());
    factor_.assign(end, 1);
    least_[1] = 0;
    // When the loop reaches n, all smaller numbers have updated its cost.
    for (std::size_t n = 1; n < end; ++n) {
        std::int64_t extended = least_[n] + cost.latency;  // and a stage with `factor`
        for (std::size_t factor = 2, multiple = 2 * n; multiple < end; ++factor, multiple += n) {
            extended += cost.message;
            if (extended >= least_[multiple]) continue;
            least_[multiple] = extended;
            factor_[multiple] = static_cast<Rank>(factor);
        }
    }
}

void OptimumSearch::append_factors(Rank size, Schedule& schedule) const {
    while (size > 1) {
        const Rank factor = factor_[static_cast<std::size_t>(size)];
        schedule.push_back({.kind = StageKind::factor, .base = factor});
        size /= factor;
    }
}

Optimum OptimumSearch::find(Rank size) const {
    Optimum best;
    best.factored = best.cost = factored_cost(size);
    append_factors(size, best.schedule);
    // Merges first: they are the cheapest most often, and a low cost ends the search of splits.
    try_merges(size, best);
    try_splits(size, best);
    return best;
}

/// A split leaves `inner` active ranks. The other ranks only send to a leader, in groups of one
/// leader and base - 1 others. At most `inner` groups are possible. The smallest base is cheapest.
void OptimumSearch::try_splits(Rank size, Optimum& best) const {
    for (Rank inner = 2; inner < size; ++inner) {
        const Rank silent = size - inner;
        Rank others = (silent + inner - 1) / inner;  // lower bound of base - 1
        const auto cost = [&] { return stage(1) + stage(others) + factored_cost(inner); };
        while (cost() < best.cost && silent % others != 0) ++others;
        if (cost() >= best.cost) continue;
        best.cost = cost();
        best.split = best.cost;
        best.family = ScheduleFamily::split;
        const Rank base = others + 1;
        const Rank grouped = silent / others * base;
        best.schedule = {{.kind = StageKind::gather, .base = base, .grouped = grouped}};
        append_factors(inner, best.schedule);
        best.schedule.push_back({.kind = StageKind::scatter, .base = base, .grouped = grouped});
    }
}

void OptimumSearch::try_merges(Rank size, Optimum& best) const {
    for (Rank inner = size - 1; inner >= 4; --inner) {  // at least 2 * 2
        // The same factors without remainders would cost two messages less.
        if (factored_cost(inner) + 2 * cost_.message < best.cost) try_merge(size, inner, best);
    }
}

void OptimumSearch::try_merge(Rank size, Rank inner, Optimum& best) const {
    const Rank remainders = size - inner;
    std::vector<Rank> divisors;
    for (Rank d = 2; d <= inner / d; ++d) {
        if (inner % d != 0) continue;
        divisors.push_back(d);
        if (d != inner / d) divisors.push_back(inner / d);
    }
    for (const Rank last : divisors) {
        const Rank groups = inner / last;
        const std::int64_t release = stage(last - 1 + (remainders + groups - 1) / groups);
        if (release + stage(2) >= best.cost) continue;  // the first factor is at least 2
        for (const Rank first : divisors) {
            if (groups % first != 0) continue;
            const Rank middle = groups / first;
            const std::int64_t cost = stage(first) + factored_cost(middle) + release;
            if (cost >= best.cost) continue;
            best.cost = cost;
            best.merged = cost;
            best.family = ScheduleFamily::merged;
            best.schedule = {{.kind = StageKind::merge,
                              .base = first,
                              .remainders = remainders,
                              .groups = inner / first}};
            append_factors(middle, best.schedule);
            best.schedule.push_back({.kind = StageKind::release,
                                     .base = last,
                                     .remainders = remainders,
                                     .groups = groups});
        }
    }
}

}  // namespace weft::collectives
