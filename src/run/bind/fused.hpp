// SPDX-License-Identifier: BSD-3-Clause
// fused.hpp - the shortest form of a bound program: a list of store, await and combine.
//
// Idea     A program of one node and one segment is a list of steps that run one after the other:
//          store a payload with its flag, await a flag, store a result. Each names its places by
//          what does not change from call to call: the start that a place counts from (a vector of
//          the call, or the region of a rank), the offset in the first bank, and by which of a few
//          numbers it moves on when the bank changes. So the address is two additions.
// Holds    Made from the steps of the program alone (fuse.cpp); gives what they give, which the
//          tests of the virtual wire check program by program.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/types.hpp"

namespace weft::run {

/// What a place counts from; kFusedRegions + r: the region of team rank r.
inline constexpr std::uint32_t kFusedInput = 0;
inline constexpr std::uint32_t kFusedOutput = 1;
inline constexpr std::uint32_t kFusedScratch = 2;  ///< results on the way
inline constexpr std::uint32_t kFusedRegions = 3;

/// With what a place moves on from call to call.
enum class FusedMove : std::uint32_t {
    none,       ///< vectors of the call
    cells,      ///< the bank of cells
    published,  ///< likewise, of published ones
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
    raise,    ///< a bare flag
    send,     ///< a payload, then its flag
    await,    ///< a flag
    copy,     ///< of a result
    combine,  ///< of two operands
    operand,  ///< one of many; all of them stand before their `reduce`
    reduce,   ///< of these
    end,
};

struct FusedStep {
    FusedKind kind = FusedKind::end;
    std::uint16_t stage = 0;   ///< counts up to each result, for reports
    Rank peer = -1;            ///< stores: team rank whose cell it is, -1: published by this rank;
                               ///< awaited: team rank that stores it
    std::uint64_t amount = 0;  ///< bytes; of what is combined: elements
    FusedPlace target = {};    ///< stores, awaited: the cell; results: where they go
    FusedPlace source = {};
    FusedPlace other = {};  ///< send: where the payload goes; combine: the right operand
};

/// Most bytes of results on the way; longer ones have an operation's memory.
inline constexpr std::uint64_t kFusedScratchMax = 16384;

/// Most operands of one result.
inline constexpr std::size_t kFusedOperands = 64;

/// Which teams may run a program in this form.
enum class FusedTeams : std::uint8_t {
    failed,  ///< of a team: it runs none any more
    any,
    one_node,  ///< those whose members all share memory
    none,      ///< it has no such form
};

struct FusedProgram {
    std::vector<FusedStep> steps;  ///< the last one is `end`; or none
    /// One store, one flag awaited, and at most one result of two, in cells: what two ranks mostly
    /// do. It takes no bulk bank and no scratch.
    bool exchange = false;
    FusedTeams teams = FusedTeams::none;
    std::uint64_t scratch_bytes = 0;

    [[nodiscard]] bool empty() const { return steps.empty(); }
};

}  // namespace weft::run
