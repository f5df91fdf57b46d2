// SPDX-License-Identifier: BSD-3-Clause
// run.hpp - one run of a scenario, or of a part of it, and its first error.
//
// Holds    The scenario, the part and the schedule determine all events; time is counted, not
//          measured. A run in a child process reports a crash, or more than a minute of
//          processor time, as an error.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tests/virtual/farm/scenario.hpp"

namespace weft::farm {

/// Result of a run.
struct Report {
    std::string wrong;             ///< first error; empty: none
    std::uint64_t operations = 0;  ///< one-sided calls, and collectives (once for all members)
    std::uint64_t switches = 0;    ///< number of switches between ranks
    std::uint64_t trace = 0;       ///< hash of the order in which ranks ran
};

/// Runs acts of the scenario. `part` has their indices, ascending. schedule: seed of the order of
/// events.
[[nodiscard]] Report run_here(const Scenario& scenario, std::span<const std::size_t> part,
                              std::uint64_t schedule);
/// Runs acts as run_here() does, in a child process.
[[nodiscard]] Report run_in_child(const Scenario& scenario, std::span<const std::size_t> part,
                                  std::uint64_t schedule);

}  // namespace weft::farm
