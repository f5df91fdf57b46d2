// SPDX-License-Identifier: BSD-3-Clause
// contract.cpp - gather: block b of the root's output is the block that rank b contributes.
#include "collectives/gather/gather.hpp"

namespace weft::collectives {

const plan::Contract& gather_contract() {
    static const plan::Contract contract{
        .collective = "gather",
        .block_per_rank = true,
        .input =
            [](const plan::Program& header) {
                const std::uint32_t pieces = header.units / static_cast<std::uint32_t>(header.size);
                return plan::UnitRange{static_cast<std::uint32_t>(header.rank) * pieces, pieces};
            },
        .output =
            [](const plan::Program& header) {
                return plan::UnitRange{0, header.rank == header.root ? header.units : 0};
            },
        .must_synchronize = false,
        .expected =
            [](const plan::Program& header) {
                std::vector<plan::Expectation> list;
                if (header.rank != header.root) return list;
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
