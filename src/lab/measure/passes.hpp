// SPDX-License-Identifier: BSD-3-Clause
// passes.hpp - which of several passes of the same measurements counts.
//
// Why      Machines have modes: on some, a line takes several times as long from one processor to
//          the other for seconds or minutes, and then not any more. Costs that were measured in one
//          mode choose wrongly for calls in another, and not equally: in a slow mode put targets
//          take three times as long, and vectors that are used in place hardly longer, so costs of
//          the quick mode choose what takes twice as long in the slow one, and those of the slow one
//          what takes a fifth more in the quick one.
// Idea     Of near costs those of a pass that is slower than most, by what a message costs, and not
//          the slowest: something else may have run then. Of far ones, mostly of system calls, those
//          of the pass in the middle.
// Holds    Pure. A pass is taken as a whole, near or far: what a machine costs are differences of
//          measured times, which say nothing if one of the two was measured in another mode.
// Next     front/cli/fit_command.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace weft::lab {

struct Pass {
    /// Of a flag that was timed again and again, in the order of time; none where none could be.
    std::vector<double> flags_ns;
    double near_ns = 0;            ///< by which passes are compared: some message, or copy
    std::optional<double> far_ns;  ///< likewise, where there is a network
};

struct ChosenPasses {
    std::size_t near = 0;
    std::size_t far = 0;
    double flag_min_ns = 0;  ///< of all passes
    double flag_max_ns = 0;

    /// The machine has changed its mode, or was busy with something else.
    [[nodiscard]] bool differ() const;
};

/// Flags that take up to so many times as long are taken to be of the same mode.
inline constexpr double kSameMode = 1.5;

/// Of one pass at least.
[[nodiscard]] ChosenPasses choose_passes(std::span<const Pass> passes);

}  // namespace weft::lab
