// SPDX-License-Identifier: BSD-3-Clause
// fused.hpp - the shortest form of a bound program: a list of stores, waits and results
// (docs/decisions/0015-fused-form.md).
//
// Idea     A place in a step consists of constants: a base (a buffer of the call or the region of a
//          rank), an offset in the first bank, and the kind of its bank. The address is then two
//          additions.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/types.hpp"

namespace weft::run {

/// Bases of places. kFusedRegions + r is the region of team rank r.
inline constexpr std::uint32_t kFusedInput = 0;
inline constexpr std::uint32_t kFusedOutput = 1;
inline constexpr std::uint32_t kFusedScratch = 2;  ///< partial results
inline constexpr std::uint32_t kFusedRegions = 3;

/// Offset that is added to a place in each call.
enum class FusedMove : std::uint32_t {
    none,       ///< zero, for buffers of the call
    cells,      ///< the bank of cells
    published,  ///< the bank of published cells
    bulk,       ///< the bulk bank
};
inline constexpr std::size_t kFusedMoves = 4;

struct FusedPlace {
    std::uint64_t offset = 0;  ///< in the first bank
    std::uint32_t base = kFusedInput;
    FusedMove move = FusedMove::none;

    friend bool operator==(const FusedPlace&, const FusedPlace&) = default;
};

enum class FusedKind : std::uint8_t {
    raise,    ///< stores a bare flag
    send,     ///< stores a payload, then its flag
    await,    ///< waits for a flag
    copy,     ///< copies a result
    combine,  ///< combines two operands
    operand,  ///< one of many operands; all precede their `reduce`
    reduce,   ///< combines these operands
    end,
};

struct FusedStep {
    FusedKind kind = FusedKind::end;
    std::uint16_t stage = 0;  ///< incremented after each result, for reports
    Rank peer = -1;  ///< stores: owner of the cell, -1: published; waits: sender; team rank
    std::uint64_t amount = 0;  ///< bytes; when combining: elements
    FusedPlace target = {};    ///< stores, waits: the cell; results: their place
    FusedPlace source = {};
    FusedPlace other = {};  ///< send: place of the payload; combine: right operand
};

/// Most bytes of partial results. Longer ones need an operation's memory.
inline constexpr std::uint64_t kFusedScratchMax = 16384;

/// Most operands of one result.
inline constexpr std::size_t kFusedOperands = 64;

/// Teams that may run a program in this form.
enum class FusedTeams : std::uint8_t {
    failed,  ///< for a failed team: no program is at most this
    any,
    one_node,  ///< teams whose members all share memory
    none,      ///< the program has no fused form
};

struct FusedProgram {
    std::vector<FusedStep> steps;  ///< the last one is `end`; or empty
    /// One store, one wait, and at most one result of two operands, in cells: the usual exchange of
    /// two ranks. It uses no bulk bank and no scratch.
    bool exchange = false;
    FusedTeams teams = FusedTeams::none;
    std::uint64_t scratch_bytes = 0;

    [[nodiscard]] bool empty() const { return steps.empty(); }
};

}  // namespace weft::run
