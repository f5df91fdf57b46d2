// SPDX-License-Identifier: BSD-3-Clause
// goal.hpp - programs as text for LogGOPSim (GOAL), and the simulation of such text.
//
// Idea     Each lane of a rank becomes a list of operations: send, recv, and calc for a reduction.
//          An operation requires the previous one. Adjacent waits become receptions with equal
//          requirements, so they complete in order of arrival. The next operation requires all.
// Why      An independent check: another simulator can read the text, and simulate_goal() shares no
//          code with the engines that read programs. It simulates operations, their requirements,
//          and one processor for each rank.
// Holds    A tag encodes number and segment of a signal. Loops are unrolled. GOAL counts calc in
//          whole nanoseconds: the time of a reduction is rounded, and 0 is omitted. The label of
//          the calc has the picoseconds, which simulate_goal() uses. LogGOPSim accepts no blanks
//          before an operation and no message of 0 bytes. A message without data is written as 1b
//          with a label that begins with s; simulate_goal() reads it as 0 bytes. A signal of a rank
//          to itself and the wait for it become two calcs of 0 ns; the second requires the first.
// Next     docs/selection.md; Hoefler, Siebert and Lumsdaine, Group Operation Assembly Language.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "tools/simulate/image.hpp"
#include "tools/simulate/simulate.hpp"

namespace weft::lab {

using plan::BufferSize;
using plan::MessageModel;
using plan::Program;
using plan::Time;

/// Writes the programs of all ranks, in rank order, for buffers of `size`. The model determines the
/// times of reductions.
[[nodiscard]] base::Result<std::string> to_goal(std::span<const Program> programs,
                                                const BufferSize& size, const MessageModel& model);

/// First character of the labels of signals.
inline constexpr char kSignalLabel = 's';
/// First character of the label of a calc that is not a whole number of nanoseconds: operation 7
/// with the label p7_1400 takes 1400 ps.
inline constexpr char kPicosecondLabel = 'p';
/// Returns the nanoseconds to write for a time.
[[nodiscard]] constexpr std::uint64_t nearest_nanoseconds(Time time) {
    constexpr auto kUnit = static_cast<std::uint64_t>(plan::kPicosecondsPerNanosecond);
    return (static_cast<std::uint64_t>(time) + kUnit / 2) / kUnit;
}

/// Reads GOAL (num_ranks, rank { }, calc, send, recv, requires; the default tag is 0; clauses cpu
/// and nic must be 0) and simulates it. A failure names the line, or the rank that waits forever.
[[nodiscard]] base::Result<Outcome> simulate_goal(std::string_view text, const MessageModel& model);

}  // namespace weft::lab
