// SPDX-License-Identifier: BSD-3-Clause
// clocks.hpp - by how much the clocks of the ranks of a job differ.
//
// Idea     Rank 0 looks at its clock, broadcasts, and gathers when that arrived by the clock of
//          each rank: that moment lies between the broadcast's begin and the gather's end, so it is
//          known up to half of that time. Of several rounds the shortest counts.
// Why      Ranks of one host read one clock; those of several do not, and clocks drift by tens of
//          microseconds a second, so the job compares them at its start and at its end.
// Next     trace.hpp, where times of all ranks become those of rank 0's clock.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace weft::run {

class Team;

struct ClockOffsets {
    std::uint64_t at_ns = 0;                  ///< by rank 0's clock
    std::vector<std::int64_t> ahead_ns = {};  ///< by rank: its clock minus rank 0's; on rank 0
    std::uint64_t error_ns = 0;               ///< none is wrong by more
};

/// One round: when rank 0 began and ended, and what each rank's clock showed in between.
struct ClockRound {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::vector<std::uint64_t> seen_ns;
};
/// What the shortest of some rounds says.
[[nodiscard]] ClockOffsets offsets_of(const std::vector<ClockRound>& rounds);
/// What must be subtracted from times of a rank, by comparisons before and after them.
[[nodiscard]] std::int64_t ahead_at(const ClockOffsets& first, const ClockOffsets& last,
                                    std::size_t rank, std::uint64_t time_ns);

/// Collective.
[[nodiscard]] base::Result<ClockOffsets> compare_clocks(Team& team);

}  // namespace weft::run
