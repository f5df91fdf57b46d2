// SPDX-License-Identifier: BSD-3-Clause
#include "lab/measure/passes.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "base/check.hpp"

namespace weft::lab {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// The passes by a cost, the quickest first; those without it last.
template <class Cost>
std::vector<std::size_t> ordered(std::span<const Pass> passes, Cost cost) {
    std::vector<std::size_t> order(passes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {},
                             [&](std::size_t number) { return std::invoke(cost, passes[number]); });
    return order;
}

/// Of those that have the cost the one in the middle, of two the quicker one.
std::size_t middle(std::span<const Pass> passes, std::optional<double> Pass::*cost) {
    const auto has = [&](const Pass& pass) { return (pass.*cost).has_value(); };
    const auto measured = static_cast<std::size_t>(std::ranges::count_if(passes, has));
    const auto order =
        ordered(passes, [&](const Pass& pass) { return (pass.*cost).value_or(kNever); });
    return order[measured == 0 ? 0 : (measured - 1) / 2];
}

}  // namespace

bool ChosenPasses::differ() const {
    return flag_max_ns > kSameMode * flag_min_ns;
}

ChosenPasses choose_passes(std::span<const Pass> passes) {
    WEFT_CHECK(!passes.empty());
    ChosenPasses chosen;
    const auto near = [](const Pass& pass) { return pass.near_ns.value_or(kNever); };
    chosen.near = ordered(passes, near).front();
    chosen.memory = ordered(passes, &Pass::memory_ns).front();
    chosen.copies = middle(passes, &Pass::copies_ns);
    chosen.far = middle(passes, &Pass::far_ns);
    std::vector<double> flags;
    for (const Pass& pass : passes)
        flags.insert(flags.end(), pass.flags_ns.begin(), pass.flags_ns.end());
    if (flags.empty()) return chosen;
    chosen.flag_min_ns = std::ranges::min(flags);
    chosen.flag_max_ns = std::ranges::max(flags);
    return chosen;
}

}  // namespace weft::lab
