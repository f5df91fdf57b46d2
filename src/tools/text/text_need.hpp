// SPDX-License-Identifier: BSD-3-Clause
// text_need.hpp - limits for the size of programs in a text of a given length.
//
// Idea     A generated program has one step, about 30 bytes of text, for every few units that a
//          rank handles. The limits for units and executed steps are therefore a multiple of the
//          text's length plus a constant. Programs above them are rejected.
// Why      The verifier stores data for each unit and each executed step. Without a limit, one line
//          could request any amount of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"

namespace weft::plan {

struct TextNeed {
    explicit TextNeed(std::size_t text_bytes);

    /// Checks that the programs are within the limits. `lines`: line number of each program.
    [[nodiscard]] base::Result<void> check(std::span<const Program> programs,
                                           std::span<const std::size_t> lines) const;

    std::size_t bytes;    ///< length of the text
    std::uint64_t units;  ///< limit of units of all buffers of all ranks
    std::uint64_t work;   ///< limit of executed steps, plus the units that they handle
};

}  // namespace weft::plan
