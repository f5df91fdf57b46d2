// SPDX-License-Identifier: BSD-3-Clause
#include "lab/measure/passes.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.hpp"

namespace weft::lab {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Of the passes, ordered by a cost, the one that so many others precede.
template <class Cost>
std::size_t nth(std::span<const Pass> passes, std::size_t others, Cost cost) {
    std::vector<std::size_t> order(passes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t number) { return cost(passes[number]); });
    return order[others];
}

}  // namespace

bool ChosenPasses::differ() const {
    return flag_max_ns > kSameMode * flag_min_ns;
}

ChosenPasses choose_passes(std::span<const Pass> passes) {
    WEFT_CHECK(!passes.empty());
    ChosenPasses chosen;
    chosen.near = nth(passes, 0, [](const Pass& pass) { return pass.near_ns.value_or(kNever); });
    chosen.copies =
        nth(passes, 0, [](const Pass& pass) { return pass.copies_ns.value_or(kNever); });
    chosen.memory = nth(passes, 0, [](const Pass& pass) { return pass.memory_ns; });
    chosen.far = nth(passes, (passes.size() - 1) / 2,
                     [](const Pass& pass) { return pass.far_ns.value_or(kNever); });
    std::vector<double> flags;
    for (const Pass& pass : passes)
        flags.insert(flags.end(), pass.flags_ns.begin(), pass.flags_ns.end());
    if (flags.empty()) return chosen;
    chosen.flag_min_ns = std::ranges::min(flags);
    chosen.flag_max_ns = std::ranges::max(flags);
    return chosen;
}

}  // namespace weft::lab
