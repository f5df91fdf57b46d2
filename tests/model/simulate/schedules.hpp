// SPDX-License-Identifier: BSD-3-Clause
// schedules.hpp - random specs in the notation of stages, and allreduce calls with them, for tests
// that compare engines of the simulator.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "simulated_call.hpp"

namespace weft::lab::test {

/// Returns a random spec in the notation of stages for n ranks. Splits (c, e) contain further
/// stages; they nest at most three deep. Merges (m, n) are at the ends of a schedule or a split.
inline std::string random_schedule(base::Random& random, Rank n, int depth = 0) {
    const auto between = [&](Rank first, Rank last) {
        return first +
               static_cast<Rank>(random.below(static_cast<std::uint64_t>(last - first + 1)));
    };
    enum Kind : std::uint64_t { exchanges_only, split, merged };
    const auto kind = random.below(depth < 3 ? 3U : 1U);
    if (kind == split && n >= 3) {
        const Rank base = between(2, std::min(n, 5));
        const Rank groups = between(1, n / base);
        const Rank inner = n - groups * (base - 1);
        const std::string middle = inner > 1 ? random_schedule(random, inner, depth + 1) + "," : "";
        return fmt::format("c{0}m{1},{2}e{0}m{1}", groups * base, base, middle);
    }
    std::vector<Rank> factors;
    const auto choose_factors = [&](Rank m) {
        factors.clear();
        for (Rank left = m; left > 1;) {
            Rank factor = 2;
            while (left % factor != 0) ++factor;
            if (!factors.empty() && random.chance(1, 3))
                factors.back() *= factor;
            else
                factors.push_back(factor);
            left /= factor;
        }
    };
    if (kind == merged && n >= 5) {
        for (int attempt = 0; attempt < 20; ++attempt) {
            const Rank remainders = between(1, n - 4);
            choose_factors(n - remainders);
            if (factors.size() < 2) continue;
            std::string text = fmt::format("m{}g{}a{}", remainders,
                                           (n - remainders) / factors.front(), factors.front());
            for (std::size_t i = 1; i + 1 < factors.size(); ++i)
                text += fmt::format(",a{}", factors[i]);
            return text + fmt::format(",n{}g{}a{}", remainders, (n - remainders) / factors.back(),
                                      factors.back());
        }
    }
    choose_factors(n);
    std::string text;
    for (const Rank factor : factors) text += fmt::format("{}a{}", text.empty() ? "" : ",", factor);
    return text;
}

struct CallLimits {
    Rank ranks_max;
    std::uint64_t calls_per_segmented;  ///< one call in this number has 3 segments, on average
};
/// Returns an allreduce with a random number of ranks and elements, and a random schedule.
inline SimulatedCall random_call(base::Random& random, const CallLimits& limits) {
    SimulatedCall call;
    auto& request = call.request;
    request.size =
        2 + static_cast<Rank>(random.below(static_cast<std::uint64_t>(limits.ranks_max) - 1));
    request.elements = 1 + random.below(40);
    request.element_bytes = 4;
    request.segments = random.chance(1, limits.calls_per_segmented) ? 3 : 1;
    request.placement =
        random.chance(1, 2) ? collectives::Placement::ordered : collectives::Placement::paper;
    call.spec = random_schedule(random, request.size);
    return call;
}

}  // namespace weft::lab::test
