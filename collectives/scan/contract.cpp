// SPDX-License-Identifier: BSD-3-Clause
// contract.cpp - scan: every unit of rank r's output is the reduction of that unit over the ranks 0..r.
#include "collectives/scan/scan.hpp"

namespace weft::collectives {

const plan::Contract& scan_contract() {
    static const plan::Contract contract{
        .collective = "scan",
        .block_per_rank = false,
        .input = {},
        .output = {},
        .must_synchronize = false,
        .expected =
            [](const plan::Program& header) {
                std::vector<plan::Expectation> list;
                for (std::uint32_t unit = 0; unit < header.units; ++unit)
                    list.push_back({unit, 0, header.rank, unit});
                return list;
            },
    };
    return contract;
}

}  // namespace weft::collectives
