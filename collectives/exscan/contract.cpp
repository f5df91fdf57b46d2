// SPDX-License-Identifier: BSD-3-Clause
// contract.cpp - exscan: every unit of rank r's output is the reduction of that unit over the ranks before r. Rank 0 has no
// output.
#include "collectives/exscan/exscan.hpp"

namespace weft::collectives {

const plan::Contract& exscan_contract() {
    static const plan::Contract contract{
        .collective = "exscan",
        .block_per_rank = false,
        .input = {},
        .output =
            [](const plan::Program& header) {
                return plan::UnitRange{0, header.rank == 0 ? 0 : header.units};
            },
        .must_synchronize = false,
        .expected =
            [](const plan::Program& header) {
                std::vector<plan::Expectation> list;
                if (header.rank == 0) return list;
                for (std::uint32_t unit = 0; unit < header.units; ++unit)
                    list.push_back({unit, 0, header.rank - 1, unit});
                return list;
            },
    };
    return contract;
}

}  // namespace weft::collectives
