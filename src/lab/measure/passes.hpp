// SPDX-License-Identifier: BSD-3-Clause
// passes.hpp - which of several passes of the same measurements counts.
//
// Why      Machines have modes: on some, a line takes several times as long from one processor to
//          the other for seconds or minutes, and then not any more. Costs that were measured in one
//          mode choose wrongly for calls in another, and most wrongly those of which some were
//          measured in the one and some in the other: then what is used in place seems slow, and
//          put targets quick.
// Idea     Of near puts a pass of the quick mode, which is the one that every fit finds again: of
//          its passes the middle one, since the quickest of them owes that to chance. Of a rank's
//          own copies the quickest pass; of far costs, mostly of system calls, the middle one.
//          Copies out of a mate's buffer hardly depend on the mode, so what else disturbs a pass
//          counts more: of each size the middle time of all passes.
// Holds    Pure. Else what belongs together is of one pass: costs are differences of measured
//          times, which say nothing if one of the two was measured in another mode.
// Next     front/cli/fit_command.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "lab/measure/line.hpp"

namespace weft::lab {

struct Pass {
    /// Of a flag that was timed again and again, in the order of time; none where none could be.
    std::vector<double> flags_ns;
    /// By which passes are compared: some message to a rank of the node and to one of another, and
    /// a rank's own copy, where that was measured; and a call in which two ranks copy.
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

    /// The machine has changed its mode, or was busy with something else.
    [[nodiscard]] bool differ() const;
};

/// Flags, and costs of passes, that take up to so many times as long are taken to be of the same
/// mode.
inline constexpr double kSameMode = 1.5;

/// Of one pass at least.
[[nodiscard]] ChosenPasses choose_passes(std::span<const Pass> passes);

/// Of points that each pass has measured at the same places, the median of each place.
[[nodiscard]] Points middle_points(std::span<const Points> passes);

}  // namespace weft::lab
