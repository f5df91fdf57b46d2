// SPDX-License-Identifier: BSD-3-Clause
// contract.cpp - scatter: rank r's block is block r of the root's input.
#include "collectives/scatter/scatter.hpp"

namespace weft::collectives {

const plan::Contract& scatter_contract() {
    static const plan::Contract contract{
        .collective = "scatter",
        .block_per_rank = true,
        .input =
            [](const plan::Program& header) {
                return plan::UnitRange{0, header.rank == header.root ? header.units : 0};
            },
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
                    list.push_back({unit, header.root, header.root, unit});
                return list;
            },
    };
    return contract;
}

}  // namespace weft::collectives
