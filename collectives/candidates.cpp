// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/candidates.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "collectives/registry.hpp"

namespace weft::collectives {

std::vector<AlgorithmSpec> candidate_specs(std::string_view collective,
                                           const CandidateRequest& request) {
    std::vector<AlgorithmSpec> specs;
    const auto add = [&specs](std::string_view text) {
        auto spec = parse_spec(text);
        WEFT_CHECK(spec.ok(), text);
        if (std::ranges::find(specs, *spec) == specs.end()) specs.push_back(*std::move(spec));
    };
    for (const Algorithm& algorithm : algorithms()) {
        if (algorithm.collective != collective) continue;
        if (algorithm.properties.for_nodes && !request.mixed()) continue;
        if (algorithm.properties.direct && !request.direct) continue;
        const bool needs_parameters = std::ranges::any_of(
            algorithm.parameters, &std::string_view::empty, &Parameter::fallback);
        if (!needs_parameters) add(algorithm.name);
        if (algorithm.variants == nullptr) continue;
        for (const std::string& spec : algorithm.variants(request)) add(spec);
    }
    return specs;
}

}  // namespace weft::collectives
