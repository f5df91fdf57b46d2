// SPDX-License-Identifier: BSD-3-Clause
// contract.cpp - allgather: block b of every rank's output is the block that rank b contributes.
#include "collectives/allgather/allgather.hpp"

namespace weft::collectives {

const plan::Contract& allgather_contract() {
    static const plan::Contract contract{
        .collective = "allgather",
        .block_per_rank = true,
        .input =
            [](const plan::Program& header) {
                const std::uint32_t pieces = header.units / static_cast<std::uint32_t>(header.size);
                return plan::UnitRange{static_cast<std::uint32_t>(header.rank) * pieces, pieces};
            },
        .output = {},
        .must_synchronize = false,
        .expected =
            [](const plan::Program& header) {
                std::vector<plan::Expectation> list;
                const std::uint32_t pieces = header.units / static_cast<std::uint32_t>(header.size);
                for (std::uint32_t unit = 0; unit < header.units; ++unit) {
                    const auto rank = static_cast<Rank>(unit / pieces);
                    list.push_back({unit, rank, rank, unit});
                }
                return list;
            },
    };
    return contract;
}

}  // namespace weft::collectives
