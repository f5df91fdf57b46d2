// SPDX-License-Identifier: BSD-3-Clause
// fused_runner.hpp - runs the fused form of a program: publish, wait, combine; nothing else.
//
// Idea     The whole payload fits a cell, so a stage is: store it with its flag, then take in the
//          peers' cells in operand order while they arrive, then store the result.
// Holds    No allocation, lock, system call or choice of algorithm. An idle hook is called after
//          each failed test of a flag; it decides how to wait and when to give up.
// Next     run/bind/fused.hpp for the form; engine.hpp for when it is used.
#pragma once

#include <cstring>

#include "run/bind/fused.hpp"
#include "run/execute/operation.hpp"
#include "run/execute/team_state.hpp"
#include "run/execute/watchdog.hpp"

namespace weft::run {

struct FusedCall {
    TeamState& team;
    const BoundProgram& program;
    Registers registers;
    const Reducer& reducer;
    Epoch epoch;
    std::uint32_t bank;
    base::FlagWord flag;
};

/// Where a fused call waits, for reports.
struct FusedWait {
    std::uint32_t stage = 0;
    Rank peer = 0;
    const base::Cell* cell = nullptr;
};

[[nodiscard]] inline WaitingLane waiting_lane(const FusedCall& call, const FusedWait& wait) {
    return {.team = &call.team,
            .program = &call.program,
            .epoch = call.epoch,
            .digest = call.team.digest,
            .step = wait.stage,
            .peer = wait.peer,
            .have = wait.cell->flag.load(std::memory_order_relaxed),
            .want = call.flag};
}

[[nodiscard]] inline const std::byte* own_vector(const FusedCall& call, FusedVector vector) {
    return vector == FusedVector::input ? call.registers.input : call.registers.output;
}

inline void publish_cell(const FusedCall& call, const FusedStage& stage, std::size_t bytes) {
    base::Cell* cell = call.team.published(call.team.setup.rank, call.bank, stage.number);
    if (stage.source != FusedVector::none)
        std::memcpy(cell->payload, own_vector(call, stage.source), bytes);
    // Release: pairs with the acquire in await_cell(). The payload is visible with the flag.
    cell->flag.store(call.flag, std::memory_order_release);
}

template <class Idle>
bool await_cell(const FusedCall& call, const FusedWait& wait, Idle& idle) {
    if (wait.cell->flag.load(std::memory_order_acquire) == call.flag) return true;
    WaitState wait_state;
    while (wait.cell->flag.load(std::memory_order_acquire) != call.flag) {
        if (!idle(wait_state, wait)) return false;
    }
    return true;
}

/// Waits for the operands of a stage and combines them, left to right.
template <class Idle>
bool combine_cells(const FusedCall& call, const FusedStage& stage, std::uint32_t stage_index,
                   std::size_t bytes, Idle& idle) {
    alignas(16) std::byte sum[base::kCellPayload];
    bool first = true;
    for (const FusedOperand& operand : stage.operands) {
        const std::byte* data = nullptr;
        if (operand.peer >= 0) {
            const base::Cell* cell = call.team.published(operand.peer, call.bank, operand.number);
            if (!await_cell(call, {stage_index, operand.peer, cell}, idle)) return false;
            data = cell->payload;
        } else {
            data = own_vector(call, operand.vector);
        }
        if (!operand.combines) continue;
        if (first) {
            std::memcpy(sum, data, bytes);
        } else if (call.reducer.kernel != nullptr) {
            call.reducer.kernel(sum, sum, data, call.program.elements);
        } else {
            const std::byte* operands[] = {sum, data};
            reduce_many(call.reducer, sum, operands, call.program.elements);
        }
        first = false;
    }
    if (stage.target == FusedVector::output) std::memcpy(call.registers.output, sum, bytes);
    return true;
}

/// False if the idle hook gave up.
template <class Idle>
bool run_stages(const FusedCall& call, Idle idle) {
    const std::size_t bytes = call.program.elements * call.program.element_bytes;
    std::uint32_t index = 0;
    for (const FusedStage& stage : call.program.fused.stages) {
        if (stage.publishes) publish_cell(call, stage, bytes);
        if (!combine_cells(call, stage, index++, bytes, idle)) return false;
    }
    return true;
}

}  // namespace weft::run
