// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/near_way.hpp"

#include <algorithm>

#include "collectives/registry.hpp"

namespace weft::collectives {

AlgorithmSpec with_near_puts(std::string_view collective, AlgorithmSpec spec) {
    const auto algorithm = find_algorithm(collective, spec);
    if (!algorithm || spec.find(kNearParameter.name) != nullptr) return spec;
    const auto& known = (*algorithm)->parameters;
    if (std::ranges::find(known, kNearParameter.name, &Parameter::name) != known.end())
        spec.parameters.push_back({.key = std::string(kNearParameter.name), .value = "put"});
    return spec;
}

}  // namespace weft::collectives
