// SPDX-License-Identifier: BSD-3-Clause
// contract.cpp - reduce: every unit of the root's output is the reduction, over all ranks, of that unit of
// their inputs. The others have no output.
#include "collectives/reduce/reduce.hpp"

namespace weft::collectives {

const plan::Contract& reduce_contract() {
    static const plan::Contract contract{
        .collective = "reduce",
        .input = {},
        .output =
            [](const plan::Program& header) {
                return plan::UnitRange{0, header.rank == header.root ? header.units : 0};
            },
        .must_synchronize = false,
        .expected =
            [](const plan::Program& header) {
                std::vector<plan::Expectation> list;
                if (header.rank != header.root) return list;
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
