// SPDX-License-Identifier: BSD-3-Clause
// logp_costs.hpp - the parameters of algorithms that follow the LogP model.
#pragma once

#include "collectives/algorithm.hpp"
#include "collectives/patterns/range_tree.hpp"

namespace weft::collectives {

[[nodiscard]] inline std::vector<Parameter> logp_parameters() {
    return {{"latency", "6", "time that a message travels, in any unit", "1,50"},
            {"overhead", "2", "time that sending or receiving keeps a rank busy", "0"},
            {"gap", "4", "time from one message of a rank to its next", "1,9"},
            {"segments", "1", kSegmentsHelp, "3"}};
}

[[nodiscard]] inline base::Result<patterns::LogP> logp_costs(const AlgorithmSpec& spec) {
    constexpr std::int64_t kCostMax = 10'000;
    const patterns::LogP usual;
    const auto latency = number_parameter(
        spec, "latency", {.fallback = usual.latency, .least = 1, .most = kCostMax});
    if (!latency) return latency.failure();
    const auto overhead = number_parameter(
        spec, "overhead", {.fallback = usual.overhead, .least = 0, .most = kCostMax});
    if (!overhead) return overhead.failure();
    const auto gap =
        number_parameter(spec, "gap", {.fallback = usual.gap, .least = 1, .most = kCostMax});
    if (!gap) return gap.failure();
    return patterns::LogP{*latency, *overhead, *gap};
}

}  // namespace weft::collectives
