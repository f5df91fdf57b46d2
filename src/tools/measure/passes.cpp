// SPDX-License-Identifier: BSD-3-Clause
#include "tools/measure/passes.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.hpp"
#include "tools/measure/statistics.hpp"

namespace weft::lab {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Returns the middle pass, by cost, among those that cost at most `ratio` times the minimum; of
/// two middle passes, the faster.
template <class Cost>
std::size_t middle(std::span<const Pass> passes, double ratio, Cost cost) {
    std::vector<std::size_t> order(passes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto cost_of = [&](std::size_t number) { return cost(passes[number]); };
    std::ranges::stable_sort(order, {}, cost_of);
    const double limit = ratio * cost_of(order.front());
    const auto count =
        std::ranges::count_if(order, [&](std::size_t number) { return cost_of(number) <= limit; });
    return order[static_cast<std::size_t>(std::max<std::ptrdiff_t>(count, 1) - 1) / 2];
}

}  // namespace

bool ChosenPasses::flags_differ() const {
    return flag_max_ns > kSameMode * flag_min_ns;
}

ChosenPasses choose_passes(std::span<const Pass> passes) {
    WEFT_CHECK(!passes.empty());
    ChosenPasses chosen;
    chosen.near = middle(passes, kSameMode,
                         [](const Pass& pass) { return pass.near_ns.value_or(kInfinity); });
    chosen.memory = middle(passes, 1, [](const Pass& pass) { return pass.memory_ns; });
    chosen.far =
        middle(passes, kInfinity, [](const Pass& pass) { return pass.far_ns.value_or(kInfinity); });
    std::vector<double> flags;
    for (const Pass& pass : passes)
        flags.insert(flags.end(), pass.flags_ns.begin(), pass.flags_ns.end());
    if (flags.empty()) return chosen;
    chosen.flag_min_ns = std::ranges::min(flags);
    chosen.flag_max_ns = std::ranges::max(flags);
    return chosen;
}

Points middle_points(std::span<const Points> passes) {
    WEFT_CHECK(!passes.empty());
    Points middle = passes.front();
    for (std::size_t i = 0; i < middle.size(); ++i) {
        std::vector<double> times;
        for (const Points& points : passes) times.push_back(points[i].y);
        middle[i].y = median(times);
    }
    return middle;
}

}  // namespace weft::lab
