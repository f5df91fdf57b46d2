// SPDX-License-Identifier: BSD-3-Clause
// interleave.hpp - keeps several segments of a loop in flight.
//
// Idea     A loop whose body has several stages (put, wait, combine, put, ...) runs all stages of a
//          segment before the first stage of the next, so each segment takes the latencies of all
//          stages. interleave() gives each lane `window` copies that share its steps: copy k runs
//          segments k, k + window, k + 2 window, ... A copy that waits does not stop the others.
// Holds    The number of steps does not change. Each slot gets `window` times as many copies, and
//          lags are `window` times as large. Two uses of a slot are in one lane again, in the order
//          that the loop had. The verifier proves the result like any program.
#pragma once

#include "plan/schedule/program.hpp"

namespace weft::plan {

/// Largest number of segments in flight. More would hide no more latency once a port is busy, and
/// each needs its own copies of all slots.
inline constexpr std::uint32_t kWindowMax = 4;

/// Returns the number of segments in flight for a program with this header: the number that the
/// put targets of a team permit, at most kWindowMax. Equal on all ranks.
[[nodiscard]] std::uint32_t window_for(const Program& program);

/// Repeats the lanes of a program `window` times, with the same steps.
void repeat_lanes(Program& program, std::uint32_t window);

/// Keeps window_for(program) segments in flight. All steps must be in loops over all segments. Does
/// nothing if the window is 1.
void interleave(Program& program);

}  // namespace weft::plan
