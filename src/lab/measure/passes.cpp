// SPDX-License-Identifier: BSD-3-Clause
#include "lab/measure/passes.hpp"

#include <algorithm>
#include <numeric>

#include "base/check.hpp"

namespace weft::lab {

namespace {

/// Of the passes, ordered by cost(pass), the one that so many quarters of the others precede, rounded
/// down.
template <class Cost>
std::size_t quartile(std::span<const Pass> passes, std::size_t quarters, Cost cost) {
    std::vector<std::size_t> order(passes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t number) { return cost(passes[number]); });
    return order[(order.size() - 1) * quarters / 4];
}

}  // namespace

bool ChosenPasses::differ() const {
    return flag_max_ns > kSameMode * flag_min_ns;
}

ChosenPasses choose_passes(std::span<const Pass> passes) {
    WEFT_CHECK(!passes.empty());
    ChosenPasses chosen;
    chosen.near = quartile(passes, 3, [](const Pass& pass) { return pass.near_ns; });
    chosen.far = quartile(passes, 2, [](const Pass& pass) { return pass.far_ns.value_or(0); });
    std::vector<double> flags;
    for (const Pass& pass : passes)
        flags.insert(flags.end(), pass.flags_ns.begin(), pass.flags_ns.end());
    if (flags.empty()) return chosen;
    chosen.flag_min_ns = std::ranges::min(flags);
    chosen.flag_max_ns = std::ranges::max(flags);
    return chosen;
}

}  // namespace weft::lab
