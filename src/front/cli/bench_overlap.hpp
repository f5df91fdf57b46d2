// SPDX-License-Identifier: BSD-3-Clause
// bench_overlap.hpp - `weft bench overlap`: how much of a call a computation beside it hides.
//
// Idea     Per size: the time of a blocking call, then of a started one beside which the rank
//          computes, or sleeps, for as long before it waits. Hidden is the part of the call that
//          the other work covered: (blocking + work - both) / blocking.
// Why      Sleeping stands for work that leaves the rank's processor free (an accelerator). Where
//          ranks share processors only a progress thread with one to spare can hide anything.
// Holds    Medians over rounds; of each round the slowest rank counts. The last result of each kind
//          of round is checked.
#pragma once

#include <cstdint>
#include <vector>

#include "front/cli/bench_options.hpp"
#include "front/cli/command.hpp"
#include "weft/weft.hpp"

namespace weft::front {

struct OverlapRow {
    std::uint64_t bytes = 0;
    std::uint64_t rounds = 0;
    double blocking_us = 0;
    double computing_us = 0;
    double sleeping_us = 0;
    bool checked = false;

    /// Below zero where both together take longer than one after the other.
    [[nodiscard]] double hidden(double both_us) const {
        return (2 * blocking_us - both_us) / blocking_us;
    }
};

/// All sizes of the options, on all ranks; rank 0 prints a row as it comes if `prints`.
[[nodiscard]] std::vector<OverlapRow> measure_overlap(Runtime& runtime, const BenchOptions& options,
                                                      bool prints);

[[nodiscard]] Json overlap_object(Runtime& runtime, const BenchOptions& options,
                                  const std::vector<OverlapRow>& rows);

}  // namespace weft::front
