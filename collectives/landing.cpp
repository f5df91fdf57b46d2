// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/landing.hpp"

namespace weft::collectives {

AlgorithmSpec into_slots(AlgorithmSpec spec) {
    std::erase_if(spec.parameters,
                  [](const SpecParameter& one) { return one.key == kIntoParameter.name; });
    return spec;
}

}  // namespace weft::collectives
