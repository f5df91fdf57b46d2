// SPDX-License-Identifier: BSD-3-Clause
// bench_overlap.hpp - `weft bench overlap`: fraction of a call that concurrent work hides.
//
// Idea     For each size it times a blocking call, then a started call during which the rank
//          computes or sleeps for the same time before it waits. Hidden is the fraction of the call
//          that the work covered: (blocking + work - both) / blocking.
// Why      Sleeping represents work that leaves the rank's processor free (an accelerator). If
//          ranks share processors, only a progress thread with a spare processor can hide anything.
// Holds    Medians over rounds; the slowest rank determines a round's time. The last result of each
//          kind of round is checked.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/cli/bench_options.hpp"
#include "tools/cli/command.hpp"
#include "weft/weft.hpp"

namespace weft::tools {

struct OverlapRow {
    std::uint64_t bytes = 0;
    std::uint64_t rounds = 0;
    double blocking_us = 0;
    double computing_us = 0;
    double sleeping_us = 0;
    bool checked = false;

    /// Returns the hidden fraction; negative if both together take longer than separately.
    [[nodiscard]] double hidden(double both_us) const {
        return (2 * blocking_us - both_us) / blocking_us;
    }
};

/// Measures all sizes, on all ranks. Rank 0 prints each row if `prints`.
[[nodiscard]] std::vector<OverlapRow> measure_overlap(Runtime& runtime, const BenchOptions& options,
                                                      bool prints);

[[nodiscard]] Json overlap_object(Runtime& runtime, const BenchOptions& options,
                                  const std::vector<OverlapRow>& rows);

}  // namespace weft::tools
