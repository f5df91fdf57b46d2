// SPDX-License-Identifier: BSD-3-Clause
// contract.cpp - broadcast: every unit of every rank's output is that unit of the root's input. The
// root's own output too: its buffer may be another one than its input.
#include "collectives/broadcast/broadcast.hpp"

namespace weft::collectives {

const plan::Contract& broadcast_contract() {
    static const plan::Contract contract{
        .collective = "broadcast",
        .must_synchronize = false,
        .expected =
            [](const plan::Program& header) {
                std::vector<plan::Expectation> list;
                list.reserve(header.units);
                for (std::uint32_t unit = 0; unit < header.units; ++unit)
                    list.push_back({.unit = unit,
                                    .first_rank = header.root,
                                    .last_rank = header.root,
                                    .source_unit = unit});
                return list;
            },
    };
    return contract;
}

}  // namespace weft::collectives
