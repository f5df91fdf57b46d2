// SPDX-License-Identifier: BSD-3-Clause
// shrink.hpp - finds a short part of a scenario that still fails.
//
// Idea     Acts are removed while the rest still fails: first halves, then quarters, finally single
//          acts (delta debugging, Zeller and Hildebrandt 2002). A removed act changes all later
//          random choices, so several schedules are tried before a part counts as correct.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/virtual/farm/run.hpp"

namespace weft::farm {

/// A failing part of a scenario.
struct FailingPart {
    std::vector<std::size_t> part;  ///< indices of the acts
    std::uint64_t schedule = 0;     ///< schedule with which the part fails
    std::string wrong;              ///< error of that run
};

/// Returns the shortest failing part that it finds; `failing` is the part to start from.
[[nodiscard]] FailingPart shrink(const Scenario& scenario, FailingPart failing);

}  // namespace weft::farm
