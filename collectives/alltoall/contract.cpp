// SPDX-License-Identifier: BSD-3-Clause
// contract.cpp - alltoall: block b of rank r's output is block r of rank b's input.
#include "collectives/alltoall/alltoall.hpp"

namespace weft::collectives {

const plan::Contract& alltoall_contract() {
    static const plan::Contract contract{
        .collective = "alltoall",
        .block_per_rank = true,
        .input = {},
        .output = {},
        .must_synchronize = false,
        .expected =
            [](const plan::Program& header) {
                std::vector<plan::Expectation> list;
                const std::uint32_t pieces = header.units / static_cast<std::uint32_t>(header.size);
                const std::uint32_t own = static_cast<std::uint32_t>(header.rank) * pieces;
                for (std::uint32_t unit = 0; unit < header.units; ++unit) {
                    const auto rank = static_cast<Rank>(unit / pieces);
                    list.push_back({unit, rank, rank, own + unit % pieces});
                }
                return list;
            },
    };
    return contract;
}

}  // namespace weft::collectives
