// SPDX-License-Identifier: BSD-3-Clause
// processors.hpp - assignment of ranks to the shared processors of a host.
//
// Idea     Ranks of a host start on its processors in blocks (run/job/host_facts.hpp). They stay
//          there, because waiting ranks poll and never sleep.
// Next     predict.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "plan/select/machine.hpp"

namespace weft::plan {

/// Computation time of each represented rank, including the receipt of its messages.
using Loads = std::vector<Time>;

/// Returns the index of a rank's processor, counted over all hosts.
[[nodiscard]] inline std::size_t processor_of(const Machine& machine, Rank rank) {
    const auto at = static_cast<std::size_t>(rank);
    const auto on_host = static_cast<std::size_t>(machine.host_ranks);
    const auto processors = static_cast<std::size_t>(machine.host_processors);
    return at / on_host * processors + at % on_host * processors / on_host;
}

/// Returns the computation time of the busiest processor.
[[nodiscard]] inline Time busiest(const Machine& machine, const Loads& loads) {
    Time most = 0;
    Time sum = 0;
    std::size_t current = 0;
    for (std::size_t rank = 0; rank < loads.size(); ++rank) {
        const std::size_t place = processor_of(machine, static_cast<Rank>(rank));
        sum = place == current ? sum + loads[rank] : loads[rank];
        current = place;
        most = std::max(most, sum);
    }
    return most;
}

}  // namespace weft::plan
