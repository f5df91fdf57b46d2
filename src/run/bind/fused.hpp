// SPDX-License-Identifier: BSD-3-Clause
// fused.hpp - the shortest form of a bound program: stages of publish, wait and reduce.
//
// Idea     A program whose every step stays on one node and whose payloads fit a cell is a list of
//          stages: publish at most one payload, take in some published cells in order, store the
//          result. A stage runs as one loop without decoding steps.
// Holds    Made from the steps alone (fuse.cpp); gives what the steps give, which the tests of the
//          virtual wire check program by program.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/types.hpp"

namespace weft::run {

/// Where a stage reads or writes a vector of the call.
enum class FusedVector : std::uint8_t { none, input, output };

/// One operand of a stage: a peer's published cell, or this rank's own vector.
struct FusedOperand {
    Rank peer = -1;            ///< team rank whose cell it is; -1: own vector `vector`
    std::uint32_t number = 0;  ///< of the published cell
    FusedVector vector = FusedVector::none;
    bool combines = true;  ///< false: only awaited
};

struct FusedStage {
    bool publishes = false;
    std::uint32_t number = 0;                ///< cell that this rank publishes
    FusedVector source = FusedVector::none;  ///< its payload; none: a bare flag
    FusedVector target = FusedVector::none;  ///< where the result goes; none: the stage only waits
    std::vector<FusedOperand> operands;      ///< awaited, then combined, in this order
};

struct FusedProgram {
    std::vector<FusedStage> stages;

    [[nodiscard]] bool empty() const { return stages.empty(); }
};

}  // namespace weft::run
