// SPDX-License-Identifier: BSD-3-Clause
// passes.hpp - selects among repeated passes of the same measurements.
//
// Why      Machines have modes: on some, a cache line takes several times as long between two
//          processors for seconds or minutes. Costs measured in one mode lead to wrong choices in
//          another. Mixtures are worst: then access in place may seem slow and put targets fast,
//          or the reverse.
// Idea     Local puts use a pass of the fast mode, which every fit finds again. Among its passes
//          the middle one counts, because the fastest is fast by chance. A rank's own copies use
//          the fastest pass. Remote costs, mostly of system calls, use the middle pass. Copies from
//          a peer's buffer hardly depend on the mode; other disturbances dominate, so each size
//          uses the median of all passes.
// Holds    Pure. Except for these copies, related values come from one pass. Costs are differences
//          of times, which are meaningless across modes.
// Next     tools/cli/fit_command.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tools/measure/line.hpp"

namespace weft::lab {

struct Pass {
    /// Repeated times of a flag, in order of measurement; empty if they could not be measured.
    std::vector<double> flags_ns;
    /// Costs by which passes are compared: a message to a local and to a remote rank, a rank's own
    /// copy (if measured), and a call in which two ranks copy.
    std::optional<double> near_ns;
    std::optional<double> far_ns;
    std::optional<double> copies_ns;
    double memory_ns = 0;
};

struct ChosenPasses {
    std::size_t near = 0;
    std::size_t far = 0;
    std::size_t memory = 0;
    double flag_min_ns = 0;  ///< of all passes
    double flag_max_ns = 0;

    /// Returns true if the flag times differ: the machine changed its mode or was busy.
    [[nodiscard]] bool differ() const;
};

/// Largest ratio of two flag times, or of two passes' costs, within one mode.
inline constexpr double kSameMode = 1.5;

/// Chooses among at least one pass.
[[nodiscard]] ChosenPasses choose_passes(std::span<const Pass> passes);

/// Returns the median of each point over passes that have measured at equal places.
[[nodiscard]] Points middle_points(std::span<const Points> passes);

}  // namespace weft::lab
