// SPDX-License-Identifier: BSD-3-Clause
// passes.hpp - which of several passes of the same measurements counts.
//
// Why      Machines have modes: on some, a line takes several times as long from one processor to
//          the other for seconds or minutes, and then not any more. Costs that were measured in one
//          mode choose wrongly for calls in another, and what others do on the processors only adds
//          to times: neither what was measured last nor a mean of all is what counts.
// Idea     During each pass a flag is timed again and again. Near costs are those of the passes in
//          which it was as quick from begin to end as in any; of these, of the one with the least
//          cost. Far ones, mostly of system calls, are those of the pass with the least.
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
    std::vector<double> flags_ns;  ///< in the order of time; none where none could be timed
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
