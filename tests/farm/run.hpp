// SPDX-License-Identifier: BSD-3-Clause
// run.hpp - one run of a scenario, or of a part of it: what went wrong, if anything.
//
// Holds    Everything follows from the scenario, the part and the schedule; time is counted, not
//          measured. A run in a process of its own turns crashes and runs without end into texts.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tests/farm/scenario.hpp"

namespace weft::farm {

struct Report {
    std::string wrong;             ///< empty: nothing
    std::uint64_t operations = 0;  ///< acts that were made; one of all ranks together is one
    std::uint64_t switches = 0;    ///< between ranks
    std::uint64_t trace = 0;       ///< of all that happened; equal traces, equal runs
};

/// `part`: which acts, ascending. `schedule`: another order of events for each number.
[[nodiscard]] Report run_here(const Scenario& scenario, std::span<const std::size_t> part,
                              std::uint64_t schedule);
/// The same in a child process.
[[nodiscard]] Report run_apart(const Scenario& scenario, std::span<const std::size_t> part,
                               std::uint64_t schedule);

}  // namespace weft::farm
