// SPDX-License-Identifier: BSD-3-Clause
#include "run/execute/team_state.hpp"

#include <bit>

#include "base/check.hpp"

namespace weft::run {

TeamState::TeamState(TeamSetup made_from)
    : setup(std::move(made_from)), next_tick(setup.first_tick & base::kTickMask) {
    WEFT_CHECK(std::has_single_bit(setup.shape.banks), setup.shape.banks);
    WEFT_CHECK(std::has_single_bit(setup.shape.bulk_banks), setup.shape.bulk_banks);
    cells = setup.cell_window ? std::move(setup.cell_window)
                              : std::make_unique<Window>(setup.shape.banks);
    bulk = setup.bulk_window ? std::move(setup.bulk_window)
                             : std::make_unique<Window>(setup.shape.bulk_banks);
}

const BoundProgram* TeamState::recall(Epoch epoch) const {
    const Epoch next = cells->next();
    if (epoch < 0 || epoch >= next || epoch < next - static_cast<Epoch>(kHistory)) return nullptr;
    return history[static_cast<std::size_t>(epoch) % kHistory];
}

}  // namespace weft::run
