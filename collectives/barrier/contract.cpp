// SPDX-License-Identifier: BSD-3-Clause
// contract.cpp - barrier: no data; completion anywhere implies entry everywhere.
#include "collectives/barrier/barrier.hpp"

namespace weft::collectives {

const plan::Contract& barrier_contract() {
    static const plan::Contract contract{
        .collective = "barrier",
        .must_synchronize = true,
        .expected = [](const plan::Program&) { return std::vector<plan::Expectation>{}; },
    };
    return contract;
}

}  // namespace weft::collectives
