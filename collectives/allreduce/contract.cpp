// SPDX-License-Identifier: BSD-3-Clause
// contract.cpp - allreduce: every unit of every rank's output is the reduction, over all ranks, of
// that unit of their inputs.
#include "collectives/allreduce/allreduce.hpp"

namespace weft::collectives {

const plan::Contract& allreduce_contract() {
    static const plan::Contract contract{
        .collective = "allreduce",
        .must_synchronize = false,
        .expected =
            [](const plan::Program& header) {
                std::vector<plan::Expectation> list;
                list.reserve(header.units);
                for (std::uint32_t unit = 0; unit < header.units; ++unit)
                    list.push_back({.unit = unit,
                                    .first_rank = 0,
                                    .last_rank = header.size - 1,
                                    .source_unit = unit});
                return list;
            },
    };
    return contract;
}

}  // namespace weft::collectives
