// SPDX-License-Identifier: BSD-3-Clause
// passes.hpp - which of several passes of the same measurements counts.
//
// Why      Machines have modes: on some, a line takes several times as long from one processor to
//          the other for seconds or minutes, and then not any more. Costs that were measured in one
//          mode choose wrongly for calls in another, and most wrongly those of which some were
//          measured in the one and some in the other: then what is used in place seems slow, and
//          put targets quick.
// Idea     Of what hardly leaves the processors, near puts, copies between ranks of a node and a
//          rank's own, the quickest of all passes, each by itself: the quick mode is the one that
//          every fit finds again. Of far costs, mostly of system calls, those of the middle pass.
// Holds    Pure. What belongs together is of one pass: costs are differences of measured times,
//          which say nothing if one of the two was measured in another mode.
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
    /// By which passes are compared: some message to a rank of the node and to one of another, a
    /// call in which two ranks copy, and a rank's own copy; where that was measured.
    std::optional<double> near_ns;
    std::optional<double> far_ns;
    std::optional<double> copies_ns;
    double memory_ns = 0;
};

struct ChosenPasses {
    std::size_t near = 0;
    std::size_t far = 0;
    std::size_t copies = 0;
    std::size_t memory = 0;
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
