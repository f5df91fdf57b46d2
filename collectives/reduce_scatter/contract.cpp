// SPDX-License-Identifier: BSD-3-Clause
// contract.cpp - reduce_scatter: block r of rank r's output is the reduction of that block of all inputs.
#include "collectives/reduce_scatter/reduce_scatter.hpp"

namespace weft::collectives {

const plan::Contract& reduce_scatter_contract() {
    static const plan::Contract contract{
        .collective = "reduce_scatter",
        .block_per_rank = true,
        .input = {},
        .output =
            [](const plan::Program& header) {
                const std::uint32_t pieces = header.units / static_cast<std::uint32_t>(header.size);
                return plan::UnitRange{static_cast<std::uint32_t>(header.rank) * pieces, pieces};
            },
        .must_synchronize = false,
        .expected =
            [](const plan::Program& header) {
                std::vector<plan::Expectation> list;
                const std::uint32_t pieces = header.units / static_cast<std::uint32_t>(header.size);
                const std::uint32_t first = static_cast<std::uint32_t>(header.rank) * pieces;
                for (std::uint32_t unit = first; unit < first + pieces; ++unit)
                    list.push_back({unit, 0, header.size - 1, unit});
                return list;
            },
    };
    return contract;
}

}  // namespace weft::collectives
