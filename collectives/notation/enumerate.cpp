// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/notation/enumerate.hpp"

#include <map>

namespace weft::collectives {

namespace {

using Visit = std::function<bool(const Schedule&)>;

/// Visits `schedule` with every ordered factorisation of n appended. Returns false if the visitor
/// has returned false.
bool visit_factorisations(Rank n, Schedule& schedule, const Visit& visit) {
    if (n == 1) return visit(schedule);
    const auto descend = [&](Rank factor) {
        schedule.push_back({.kind = StageKind::factor, .base = factor});
        const bool more = visit_factorisations(n / factor, schedule, visit);
        schedule.pop_back();
        return more;
    };
    std::vector<Rank> large;
    for (Rank factor = 2; factor <= n / factor; ++factor) {
        if (n % factor != 0) continue;
        if (!descend(factor)) return false;
        if (factor != n / factor) large.push_back(n / factor);
    }
    while (!large.empty()) {
        if (!descend(large.back())) return false;
        large.pop_back();
    }
    return descend(n);
}

bool visit_splits(Rank size, const Visit& visit) {
    for (Rank base = 2; base <= size; ++base) {
        for (Rank grouped = base; grouped <= size; grouped += base) {
            const Rank inner = size - grouped / base * (base - 1);
            if (inner < 2) break;
            Schedule schedule{{.kind = StageKind::gather, .base = base, .grouped = grouped}};
            const bool more = visit_factorisations(inner, schedule, [&](const Schedule& opened) {
                Schedule closed = opened;
                closed.push_back({.kind = StageKind::scatter, .base = base, .grouped = grouped});
                return visit(closed);
            });
            if (!more) return false;
        }
    }
    return true;
}

bool visit_merges(Rank size, const Visit& visit) {
    for (Rank remainders = 1; size - remainders >= 4; ++remainders) {  // at least 2 * 2
        const Rank inner = size - remainders;
        Schedule factors;
        const bool more = visit_factorisations(inner, factors, [&](const Schedule& factored) {
            if (factored.size() < 2) return true;
            Schedule merged = factored;
            for (const auto& [stage, kind] : {std::pair{&merged.front(), StageKind::merge},
                                              std::pair{&merged.back(), StageKind::release}}) {
                stage->kind = kind;
                stage->remainders = remainders;
                stage->groups = inner / stage->base;
            }
            return visit(merged);
        });
        if (!more) return false;
    }
    return true;
}

/// Returns the number of ordered factorisations of n. `known` caches the numbers of its divisors.
std::uint64_t count_factorisations(Rank n, std::map<Rank, std::uint64_t>& known) {
    if (n == 1) return 1;
    const auto found = known.find(n);
    if (found != known.end()) return found->second;
    std::uint64_t count = 1;  // the factorisation n itself
    for (Rank factor = 2; factor <= n / factor; ++factor) {
        if (n % factor != 0) continue;
        count += count_factorisations(n / factor, known);
        if (factor != n / factor) count += count_factorisations(factor, known);
    }
    known[n] = count;
    return count;
}

}  // namespace

std::vector<std::uint64_t> count_factored_up_to(Rank most, bool unordered) {
    const auto end = static_cast<std::size_t>(most) + 1;
    std::vector<std::uint64_t> counts(end, 0);
    counts[1] = 1;
    // Ordered: the count of each number is added to all its multiples, whose first factor is then
    // the quotient. Unordered: after the pass of a factor, all factorisations into factors up to it
    // are counted.
    for (std::size_t outer = unordered ? 2 : 1; outer < end; ++outer)
        for (std::size_t inner = unordered ? 1 : 2; inner * outer < end; ++inner)
            counts[inner * outer] += counts[unordered ? inner : outer];
    return counts;
}

void for_each_schedule(Rank size, ScheduleFamily family, const Visit& visit) {
    if (size < 1) return;
    Schedule schedule;
    switch (family) {
        case ScheduleFamily::factored:
            visit_factorisations(size, schedule, visit);
            return;
        case ScheduleFamily::split:
            visit_splits(size, visit);
            return;
        case ScheduleFamily::merged:
            visit_merges(size, visit);
            return;
    }
}

std::uint64_t count_schedules(Rank size, ScheduleFamily family) {
    if (size < 1) return 0;
    if (family == ScheduleFamily::factored) {
        std::map<Rank, std::uint64_t> known;
        return count_factorisations(size, known);
    }
    const std::vector<std::uint64_t> factorisations =
        count_factored_up_to(size, /*unordered=*/false);
    std::uint64_t count = 0;
    if (family == ScheduleFamily::merged) {
        for (Rank inner = 4; inner < size; ++inner) count += factorisations[inner] - 1;
        return count;
    }
    for (Rank base = 2; base <= size; ++base) {
        for (Rank groups = 1; groups <= size / base; ++groups) {
            const Rank inner = size - groups * (base - 1);
            if (inner >= 2) count += factorisations[inner];
        }
    }
    return count;
}

}  // namespace weft::collectives
