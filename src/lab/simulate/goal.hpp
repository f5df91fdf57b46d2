// SPDX-License-Identifier: BSD-3-Clause
// goal.hpp - programs as text for LogGOPSim (GOAL), and such text simulated here.
//
// Idea     Each rank's lane becomes a list of operations: send, recv, and calc for a reduction. An
//          operation requires the one before it; waits that stand next to each other are receptions
//          that all require the same and are all required by what follows, so they are taken as
//          they arrive.
// Why      A second pair of eyes: the text can go to another simulator, and the reader here shares
//          nothing with the engines that read programs: it knows operations, what they require, and
//          one processor for each rank.
// Holds    A tag names number and segment of a signal. Loops are unrolled. GOAL counts calc in
//          whole nanoseconds: a reduction is rounded to the nearest one, its label has the
//          picoseconds, which the reader here counts, and one that takes no time is left out.
//          LogGOPSim's scanner takes no blanks before an operation and its simulator
//          no message of 0 bytes: what carries nothing is written as 1b with a label that begins
//          with s, and such a message has no bytes here.
// Next     docs/selection.md; Hoefler, Siebert and Lumsdaine, Group Operation Assembly Language.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "plan/simulate/image.hpp"
#include "plan/simulate/simulate.hpp"

namespace weft::lab {

using plan::MessageModel;
using plan::Outcome;
using plan::Program;
using plan::Time;
using plan::VectorSize;

/// The programs of all ranks, in order, for vectors of that size. The model says what reductions
/// take.
[[nodiscard]] base::Result<std::string> to_goal(std::span<const Program> programs,
                                                const VectorSize& size, const MessageModel& model);

/// What the labels of signals begin with.
inline constexpr char kSignalLabel = 's';
/// Likewise those of a calc that is no whole number of nanoseconds: p7_1400 is one of 1400 ps.
inline constexpr char kPicosecondLabel = 'p';
/// What is written of such a time.
[[nodiscard]] constexpr std::uint64_t nearest_nanoseconds(Time time) {
    constexpr auto kUnit = static_cast<std::uint64_t>(plan::kPicosecondsPerNanosecond);
    return (static_cast<std::uint64_t>(time) + kUnit / 2) / kUnit;
}

/// Reads GOAL (num_ranks, rank { }, calc, send, recv, requires; no tag is tag 0; clauses cpu and
/// nic must be 0) and simulates it. A failure names the line, or the rank that waits forever.
[[nodiscard]] base::Result<Outcome> simulate_goal(std::string_view text, const MessageModel& model);

}  // namespace weft::lab
