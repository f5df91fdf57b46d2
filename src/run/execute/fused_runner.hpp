// SPDX-License-Identifier: BSD-3-Clause
// fused_runner.hpp - runs the fused form of a program: store, wait, combine; nothing else.
//
// Idea     A stage is: store some payloads with their flags, then take in those of peers in operand
//          order while they arrive, then store the result.
// Holds    No allocation, lock, system call or choice of algorithm. An idle hook is called after
//          each failed test of a flag; it decides how to wait and when to give up.
// Next     run/bind/fused.hpp for the form; engine.hpp for when it is used.
#pragma once

#include <array>
#include <concepts>
#include <cstring>
#include <span>

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
    std::uint64_t bulk_offset;  ///< of its bulk bank, from the start of a region
};

/// Whether this rank may make the call at once; nothing is in flight on any team.
[[nodiscard]] inline bool may_run_fused(const TeamState& team, const BoundProgram& program) {
    if (program.fused.empty() || team.failed || !team.cells->idle()) return false;
    if (program.fused.stores_at_peers && !team.one_node) return false;
    Window* bulk = team.bulk_of(program);
    return team.cells->may_pass(program.synchronizing) &&
           (bulk == nullptr || bulk->may_pass(program.synchronizing));
}

/// Numbers the call, as issue() and complete() would.
[[nodiscard]] inline FusedCall begin_fused(TeamState& team, const BoundProgram& program,
                                           Registers registers, const Reducer& reducer) {
    const base::Tick tick = team.next_tick;
    team.next_tick = (tick + 1) & base::kTickMask;
    const Epoch epoch = team.cells->pass(program.synchronizing);
    const Digest digest = team.digest_next(program.call_hash);
    team.remember(epoch, {&program, digest});
    Window* bulk = team.bulk_of(program);
    const std::uint64_t bulk_offset =
        bulk == nullptr ? 0 : team.bulk_offset(*bulk, bulk->pass(program.synchronizing));
    return {team,
            program,
            registers,
            reducer,
            epoch,
            team.cell_bank(epoch),
            base::flag_word(tick, flag_hash(digest)),
            bulk_offset};
}

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

[[nodiscard]] inline const base::Cell* cell_of(const FusedCall& call, const FusedPlace& place) {
    return place.published() ? call.team.published(place.peer, call.bank, place.number)
                             : call.team.cell(call.bank, place.number);
}

[[nodiscard]] inline const std::byte* data_of(const FusedCall& call, const FusedPlace& place) {
    switch (place.buffer) {
        case FusedBuffer::input:
            return call.registers.input + place.offset;
        case FusedBuffer::output:
            return call.registers.output + place.offset;
        case FusedBuffer::slot:
            return call.team.own_region + call.bulk_offset + place.offset;
        default:
            return cell_of(call, place)->payload + place.offset;
    }
}

/// A word is what short calls mostly move; the two may overlap.
inline void copy_payload(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    if (bytes == sizeof(std::uint64_t)) [[likely]] {
        std::uint64_t word;
        std::memcpy(&word, from, sizeof word);
        std::memcpy(to, &word, sizeof word);
    } else if (bytes != 0) {
        std::memmove(to, from, bytes);
    }
}

inline void store(const FusedCall& call, const FusedStore& store) {
    TeamState& team = call.team;
    const FusedPlace& target = store.target;
    std::byte* const region = team.near(store.peer < 0 ? team.setup.rank : store.peer);
    const base::RegionShape& shape = team.setup.shape;
    auto* cell = reinterpret_cast<base::Cell*>(
        region + (target.published() ? shape.published(call.bank, target.number)
                                     : shape.cell(call.bank, target.number)));
    std::byte* const at = target.buffer == FusedBuffer::slot
                              ? region + call.bulk_offset + target.offset
                              : cell->payload;
    if (store.bytes != 0) copy_payload(at, data_of(call, store.source), store.bytes);
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

/// An idle hook that is also told what was done; of others nothing of this is compiled.
template <class Idle>
concept Records = requires(Idle idle, const FusedStore& store, const FusedOperand& operand,
                           std::uint32_t stage, std::uint64_t since_ns) {
    { idle.now() } -> std::same_as<std::uint64_t>;
    idle.stored(store, stage, since_ns);
    idle.awaited(operand, stage, since_ns);
    idle.ended(stage, since_ns);
};

template <class Idle>
bool await_operand(const FusedCall& call, const FusedOperand& operand, std::uint32_t stage_index,
                   Idle& idle) {
    if (!operand.awaited) return true;
    const FusedWait wait{stage_index, operand.place.peer, cell_of(call, operand.place)};
    if constexpr (Records<Idle>) {
        const std::uint64_t since_ns = idle.now();
        if (!await_cell(call, wait, idle)) return false;
        idle.awaited(operand, stage_index, since_ns);
        return true;
    } else {
        return await_cell(call, wait, idle);
    }
}

template <class Idle>
void store_all(const FusedCall& call, const FusedStage& stage,
               [[maybe_unused]] std::uint32_t stage_index, [[maybe_unused]] Idle& idle) {
    for (const FusedStore& one : stage.stores) {
        if constexpr (Records<Idle>) {
            const std::uint64_t since_ns = idle.now();
            store(call, one);
            idle.stored(one, stage_index, since_ns);
        } else {
            store(call, one);
        }
    }
}

/// Of a cell's size: left to right, while later operands are still on their way.
template <class Idle>
bool combine_cells(const FusedCall& call, const FusedStage& stage, std::uint32_t stage_index,
                   Idle& idle) {
    alignas(16) std::byte sum[base::kCellPayload];
    const std::byte* result = nullptr;
    for (const FusedOperand& operand : stage.operands) {
        if (!await_operand(call, operand, stage_index, idle)) return false;
        if (!operand.combines) continue;
        const std::byte* data = data_of(call, operand.place);
        if (result == nullptr) {
            result = data;
            continue;
        }
        const std::uint64_t elements = stage.bytes / call.program.element_bytes;
        if (call.reducer.kernel != nullptr) {
            call.reducer.kernel(sum, result, data, elements);
        } else {
            const std::byte* operands[] = {result, data};
            reduce_many(call.reducer, sum, operands, elements);
        }
        result = sum;
    }
    if (stage.target.buffer == FusedBuffer::none || stage.bytes == 0) return true;
    std::byte* const target = call.registers.output + stage.target.offset;
    if (target != result) copy_payload(target, result, stage.bytes);
    return true;
}

/// Of any size: when all operands are there, so that the target may be one of them.
template <class Idle>
bool combine_slots(const FusedCall& call, const FusedStage& stage, std::uint32_t stage_index,
                   Idle& idle) {
    std::array<const std::byte*, kFusedOperands> operands;
    std::size_t count = 0;
    for (const FusedOperand& operand : stage.operands) {
        if (!await_operand(call, operand, stage_index, idle)) return false;
        if (operand.combines) operands[count++] = data_of(call, operand.place);
    }
    std::byte* const target = call.registers.output + stage.target.offset;
    if (count == 1) {
        if (target != operands[0]) std::memmove(target, operands[0], stage.bytes);
        return true;
    }
    reduce_many(call.reducer, target, std::span(operands).first(count),
                stage.bytes / call.program.element_bytes);
    return true;
}

/// False if the idle hook gave up.
template <class Idle>
bool run_stages(const FusedCall& call, Idle idle) {
    [[maybe_unused]] std::uint64_t since_ns = 0;
    std::uint32_t index = 0;
    for (const FusedStage& stage : call.program.fused.stages) {
        if constexpr (Records<Idle>) since_ns = idle.now();
        store_all(call, stage, index, idle);
        const bool fits_cell = stage.bytes <= base::kCellPayload;
        if (!(fits_cell ? combine_cells(call, stage, index, idle)
                        : combine_slots(call, stage, index, idle)))
            return false;
        if constexpr (Records<Idle>) idle.ended(index, since_ns);
        ++index;
    }
    return true;
}

}  // namespace weft::run
