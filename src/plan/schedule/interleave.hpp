// SPDX-License-Identifier: BSD-3-Clause
// interleave.hpp - keeps several segments of a loop in flight.
//
// Idea     A lane executes all steps of a segment before the next segment, so the latencies of its
//          puts and waits add up over all segments. interleave() replaces each lane by `window`
//          lanes over the same steps: lane k runs segments k, k + window, k + 2 window, ... A lane
//          that waits does not stop the others.
// Holds    The number of steps does not change. Each slot gets `window` times as many copies, but
//          at most one for each segment; lags are `window` times as large. All uses of one copy of
//          a slot are in one lane, in the order of the loop.
#pragma once

#include "plan/schedule/program.hpp"

namespace weft::plan {

/// Largest number of segments in flight. More would hide no more latency once the network is busy,
/// and each needs its own copies of all slots.
inline constexpr std::uint32_t kWindowMax = 4;

/// Returns the number of segments in flight: the number for which a bank has cells, at most
/// kWindowMax and program.segments. Reads only header fields that are equal on all ranks.
[[nodiscard]] std::uint32_t window_for(const Program& program);

/// Repeats the lanes of a program `window` times, with the same steps.
void repeat_lanes(Program& program, std::uint32_t window);

/// Keeps window_for(program) segments in flight. All steps must be in loops over all segments. Does
/// nothing if the window is 1.
void interleave(Program& program);

}  // namespace weft::plan
