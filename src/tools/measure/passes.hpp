// SPDX-License-Identifier: BSD-3-Clause
// passes.hpp - selects among repeated passes of the same measurements.
//
// Why      Machines have modes: for seconds or minutes, the transfer of a cache line between two
//          processors may take several times longer. Costs measured in one mode lead to wrong
//          choices in another. Costs mixed from two modes are worst: access in place may seem slow
//          and put targets fast, or the reverse.
// Idea     Costs of local puts come from the middle pass among the passes of the fastest mode; the
//          fastest pass may be fast by chance. Costs of a rank's own copies come from the fastest
//          pass. Remote costs, mostly time of system calls, come from the middle of all passes.
//          Copies from a peer's buffer hardly depend on the mode, so the cost of each size is the
//          median of all passes.
// Holds    Pure. Except for copies from peers, related costs come from one pass, because costs are
//          differences of times, which are meaningless across modes.
// Next     tools/cli/fit_command.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tools/measure/line.hpp"

namespace weft::lab {

struct Pass {
    /// Times from a store of a flag to its detection by another rank; empty if not measured.
    std::vector<double> flags_ns;
    // Costs by which passes are compared (copies_ns is only reported); empty if not measured.
    std::optional<double> near_ns;    ///< message to a local rank
    std::optional<double> far_ns;     ///< message to a remote rank
    std::optional<double> copies_ns;  ///< call in which two ranks copy from one buffer
    double memory_ns = 0;             ///< a rank's own copy
};

struct ChosenPasses {
    // Indices of the passes for the costs of local and remote messages and of own copies.
    std::size_t near = 0;
    std::size_t far = 0;
    std::size_t memory = 0;
    double flag_min_ns = 0;  ///< minimum over all passes; 0 if no flags were measured
    double flag_max_ns = 0;

    /// Returns true if the flag times differ: the machine changed its mode or was busy.
    [[nodiscard]] bool flags_differ() const;
};

/// Largest ratio of two flag times, or of the costs of two passes, within one mode.
inline constexpr double kSameMode = 1.5;

/// Chooses among at least one pass.
[[nodiscard]] ChosenPasses choose_passes(std::span<const Pass> passes);

/// Returns, for each x, the median of y over the passes. All passes must have the same x.
[[nodiscard]] Points middle_points(std::span<const Points> passes);

}  // namespace weft::lab
