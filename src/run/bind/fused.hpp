// SPDX-License-Identifier: BSD-3-Clause
// fused.hpp - fused form of a bound program: a list of stores, waits and results
// (docs/decisions/0015-fused-form.md).
//
// Idea     A location of data (FusedPlace) has constants: a base (a buffer of the call or the
//          region of a rank), an offset in the first bank, and a kind of bank. An address is two
//          additions.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/types.hpp"

namespace weft::run {

/// Values of FusedPlace::base. kFusedRegions + r is the region of team rank r.
inline constexpr std::uint32_t kFusedInput = 0;
inline constexpr std::uint32_t kFusedOutput = 1;
inline constexpr std::uint32_t kFusedScratch = 2;  ///< partial results
inline constexpr std::uint32_t kFusedRegions = 3;

/// Offset that is added in each call, because each call uses other banks.
enum class FusedMove : std::uint32_t {
    none,       ///< 0, for buffers of the call
    cells,      ///< offset of the call's bank of cells
    published,  ///< offset of the call's bank of published cells
    bulk,       ///< offset of the call's bulk bank
};
inline constexpr std::size_t kFusedMoves = 4;

struct FusedPlace {
    std::uint64_t offset = 0;  ///< offset from the base, in the first bank
    std::uint32_t base = kFusedInput;
    FusedMove move = FusedMove::none;

    friend bool operator==(const FusedPlace&, const FusedPlace&) = default;
};

enum class FusedKind : std::uint8_t {
    raise,    ///< stores a flag without payload
    send,     ///< stores a payload, then its flag
    await,    ///< waits for a flag
    copy,     ///< copies one operand to the target
    combine,  ///< combines two operands
    operand,  ///< operand of the next `reduce`
    reduce,   ///< combines all `operand` steps before it
    end,      ///< end of the program
};

struct FusedStep {
    FusedKind kind = FusedKind::end;
    std::uint16_t stage = 0;  ///< number of the stage, for reports; each result ends a stage
    std::uint16_t salt = 0;   ///< stores, waits: BoundStep::salt
    Rank peer = -1;  ///< team rank. Stores: owner of the cell, -1: published; waits: sender
    std::uint64_t amount = 0;  ///< send, copy: bytes; combine, reduce: elements
    FusedPlace target = {};    ///< stores, waits: the cell; others: the result
    FusedPlace source = {};    ///< data that is read; combine: left operand
    FusedPlace other = {};     ///< send: target of the payload; combine: right operand
};

/// Limit for the scratch memory of a fused program, in bytes. Each team keeps its scratch memory.
inline constexpr std::uint64_t kFusedScratchMax = 16384;

/// Limit for the operands of a result.
inline constexpr std::size_t kFusedOperands = 64;

/// Teams that may run a program in this form.
enum class FusedTeams : std::uint8_t {
    failed,    ///< value of a failed team: less than the value of every program
    any,       ///< program without puts: it only publishes and reads published data
    one_node,  ///< teams whose members all share memory
    none,      ///< the program has no fused form
};

struct FusedProgram {
    std::vector<FusedStep> steps;  ///< the last step is `end`; empty: no fused form
    /// The steps are a store, a wait, and at most one result, without bulk bank and scratch.
    bool exchange = false;
    FusedTeams teams = FusedTeams::none;  ///< smallest TeamState::fused_limit to run it
    std::uint64_t scratch_bytes = 0;

    [[nodiscard]] bool empty() const { return steps.empty(); }
};

}  // namespace weft::run
