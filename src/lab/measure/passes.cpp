// SPDX-License-Identifier: BSD-3-Clause
#include "lab/measure/passes.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"

namespace weft::lab {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// In the middle of a pass the machine may have changed.
double slowest_flag(const Pass& pass) {
    return pass.flags_ns.empty() ? 0 : std::ranges::max(pass.flags_ns);
}

/// Of the pass for which cost(pass) is least, the first of equal ones.
template <class Cost>
std::size_t least(std::span<const Pass> passes, Cost cost) {
    return static_cast<std::size_t>(std::ranges::min_element(passes, {}, cost) - passes.begin());
}

}  // namespace

bool ChosenPasses::differ() const {
    return flag_max_ns > kSameMode * flag_min_ns;
}

ChosenPasses choose_passes(std::span<const Pass> passes) {
    WEFT_CHECK(!passes.empty());
    const double quick_ns = kSameMode * slowest_flag(passes[least(passes, slowest_flag)]);
    ChosenPasses chosen;
    chosen.near = least(passes, [&](const Pass& pass) {
        return slowest_flag(pass) > quick_ns ? kNever : pass.near_ns;
    });
    chosen.far = least(passes, [](const Pass& pass) { return pass.far_ns.value_or(kNever); });
    std::vector<double> flags;
    for (const Pass& pass : passes)
        flags.insert(flags.end(), pass.flags_ns.begin(), pass.flags_ns.end());
    if (flags.empty()) return chosen;
    chosen.flag_min_ns = std::ranges::min(flags);
    chosen.flag_max_ns = std::ranges::max(flags);
    return chosen;
}

}  // namespace weft::lab
