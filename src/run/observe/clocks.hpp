// SPDX-License-Identifier: BSD-3-Clause
// clocks.hpp - offsets between the clocks of a job's ranks.
//
// Idea     Rank 0 reads its clock, broadcasts, and gathers the arrival time by each rank's clock.
//          The arrival is between the broadcast's begin and the gather's end, so the offset is
//          known up to half of that time. The shortest of several rounds counts.
// Why      Ranks of one host read one clock. Clocks of several hosts differ, and drift by tens of
//          microseconds per second. So the job compares them at its start and at its end.
// Next     trace.hpp, which converts times of all ranks to rank 0's clock.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.hpp"

namespace weft::run {

struct ClockOffsets {
    std::uint64_t at_ns = 0;                  ///< by rank 0's clock
    std::vector<std::int64_t> ahead_ns = {};  ///< by rank: its clock minus rank 0's; on rank 0
    std::uint64_t error_ns = 0;               ///< limit of the error of each offset
};

/// One round: begin and end on rank 0, and the arrival time by each rank's clock.
struct ClockRound {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::vector<std::uint64_t> seen_ns;
};
/// Returns the offsets from the shortest round.
[[nodiscard]] ClockOffsets offsets_of(const std::vector<ClockRound>& rounds);
/// Returns the offset to subtract from a time of a rank, interpolated between two comparisons.
[[nodiscard]] std::int64_t ahead_at(const ClockOffsets& first, const ClockOffsets& last,
                                    std::size_t rank, std::uint64_t time_ns);

/// Broadcasts from rank 0. Returns the arrival time by each rank's clock on rank 0, and nothing on
/// others. Collective.
using GatherArrivals = std::function<base::Result<std::vector<std::uint64_t>>()>;

/// Compares the clocks of all ranks. Collective.
[[nodiscard]] base::Result<ClockOffsets> compare_clocks(const GatherArrivals& gather_arrivals);

}  // namespace weft::run
