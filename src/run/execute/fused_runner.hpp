// SPDX-License-Identifier: BSD-3-Clause
// fused_runner.hpp - runs the fused form of a program: store, wait, combine; nothing else.
//
// Idea     A stage is: store some payloads with their flags, then take in those of peers in operand
//          order while they arrive, then store the result.
// Why      Compiled into its caller, so that what a call consists of stays in registers: a hook
//          that waits gets copies.
// Holds    No allocation, lock, system call or choice of algorithm. The hook is called when a flag
//          is not there at the first look; it decides how to wait and when to give up.
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
    if (program.fused.scratch_bytes > team.scratch.size()) return false;
    Window* bulk = team.bulk_of(program);
    return team.cells->may_pass(program.synchronizing) &&
           (bulk == nullptr || bulk->may_pass(program.synchronizing));
}

/// The same; there is memory for the program's results on the way after that.
[[nodiscard]] inline bool make_room_for_fused(TeamState& team, const BoundProgram& program) {
    if (team.scratch.size() < program.fused.scratch_bytes)
        team.scratch.resize(program.fused.scratch_bytes);
    return may_run_fused(team, program);
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

/// Where a fused call waits.
struct FusedWait {
    std::uint32_t stage = 0;
    Rank peer = 0;
    const base::Cell* cell = nullptr;

    // Acquire: pairs with the release in store() and in the wires.
    [[nodiscard]] bool arrived(const FusedCall& call) const {
        return cell->flag.load(std::memory_order_acquire) == call.flag;
    }
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

[[nodiscard]] inline base::Cell* cell_at(const FusedCall& call, const FusedCell& cell) {
    return reinterpret_cast<base::Cell*>(call.team.near_regions[cell.owner] + cell.offset +
                                         std::uint64_t{call.bank} * cell.stride);
}

[[nodiscard]] inline std::byte* slot_at(const FusedCall& call, const FusedPlace& place) {
    return call.team.near_regions[place.cell.owner] + call.bulk_offset + place.offset;
}

[[nodiscard]] inline const std::byte* data_of(const FusedCall& call, const FusedPlace& place) {
    switch (place.buffer) {
        case FusedBuffer::input:
            return call.registers.input + place.offset;
        case FusedBuffer::output:
            return call.registers.output + place.offset;
        case FusedBuffer::scratch:
            return call.team.scratch.data() + place.offset;
        case FusedBuffer::slot:
        case FusedBuffer::published_slot:
            return slot_at(call, place);
        default:
            return cell_at(call, place.cell)->payload + place.offset;
    }
}

/// Of a result.
[[nodiscard]] inline std::byte* target_of(const FusedCall& call, const FusedPlace& place) {
    std::byte* const start =
        place.buffer == FusedBuffer::scratch ? call.team.scratch.data() : call.registers.output;
    return start + place.offset;
}

/// A word is what short calls mostly move; the two may overlap.
inline void copy_payload(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    if (bytes == sizeof(std::uint64_t)) [[likely]] {
        std::uint64_t word;
        std::memcpy(&word, from, sizeof word);
        std::memcpy(to, &word, sizeof word);
    } else {
        std::memmove(to, from, bytes);
    }
}

inline void store(const FusedCall& call, const FusedStore& store) {
    const FusedPlace& target = store.target;
    base::Cell* const cell = cell_at(call, target.cell);
    if (store.bytes != 0) {
        std::byte* const at = target.in_slot() ? slot_at(call, target) : cell->payload;
        copy_payload(at, data_of(call, store.source), store.bytes);
    }
    // Release: pairs with the acquire in FusedWait::arrived(). The payload is visible with the
    // flag.
    cell->flag.store(call.flag, std::memory_order_release);
}

/// A hook that is also told what was done; of others nothing of this is compiled.
template <class Wait>
concept Records = requires(Wait wait, const FusedStore& store, const FusedOperand& operand,
                           std::uint32_t stage, std::uint64_t since_ns) {
    { wait.now() } -> std::same_as<std::uint64_t>;
    wait.stored(store, stage, since_ns);
    wait.awaited(operand, stage, since_ns);
    wait.ended(stage, since_ns);
};

template <class Wait>
bool await_operand(const FusedCall& call, const FusedOperand& operand, std::uint32_t stage_index,
                   Wait& wait) {
    if (!operand.awaited) return true;
    const FusedWait awaited{stage_index, operand.place.peer, cell_at(call, operand.place.cell)};
    if constexpr (Records<Wait>) {
        const std::uint64_t since_ns = wait.now();
        if (!awaited.arrived(call) && !wait(call, awaited)) return false;
        wait.awaited(operand, stage_index, since_ns);
        return true;
    } else {
        if (awaited.arrived(call)) [[likely]]
            return true;
        return wait(call, awaited);
    }
}

template <class Wait>
void store_all(const FusedCall& call, const FusedStage& stage,
               [[maybe_unused]] std::uint32_t stage_index, [[maybe_unused]] Wait& wait) {
    for (const FusedStore& one : stage.stores) {
        if constexpr (Records<Wait>) {
            const std::uint64_t since_ns = wait.now();
            store(call, one);
            wait.stored(one, stage_index, since_ns);
        } else {
            store(call, one);
        }
    }
}

inline void combine_two(const FusedCall& call, const FusedStage& stage, std::byte* target,
                        const std::byte* left, const std::byte* right) {
    if (call.reducer.kernel != nullptr) [[likely]] {
        call.reducer.kernel(target, left, right, stage.elements);
    } else {
        const std::byte* operands[] = {left, right};
        reduce_many(call.reducer, target, operands, stage.elements);
    }
}

/// Of a cell's size: left to right, while later operands are still on their way.
template <class Wait>
bool combine_cells(const FusedCall& call, const FusedStage& stage, std::uint32_t stage_index,
                   Wait& wait) {
    alignas(16) std::byte sum[base::kCellPayload];
    // The result of two goes where it belongs at once, unless more follows: the target may be one
    // of these.
    std::byte* const target = target_of(call, stage.target);
    std::byte* const into = stage.pair ? target : sum;
    const std::byte* result = nullptr;
    for (const FusedOperand& operand : stage.operands) {
        if (!await_operand(call, operand, stage_index, wait)) return false;
        if (!operand.combines) continue;
        const std::byte* data = data_of(call, operand.place);
        if (result != nullptr) {
            combine_two(call, stage, into, result, data);
            data = into;
        }
        result = data;
    }
    if (stage.bytes != 0 && result != target) copy_payload(target, result, stage.bytes);
    return true;
}

/// Of any size: when all operands are there, so that the target may be one of them.
template <class Wait>
bool combine_slots(const FusedCall& call, const FusedStage& stage, std::uint32_t stage_index,
                   Wait& wait) {
    std::array<const std::byte*, kFusedOperands> operands;
    std::size_t count = 0;
    for (const FusedOperand& operand : stage.operands) {
        if (!await_operand(call, operand, stage_index, wait)) return false;
        if (operand.combines) operands[count++] = data_of(call, operand.place);
    }
    std::byte* const target = target_of(call, stage.target);
    if (count == 1) {
        if (target != operands[0]) std::memmove(target, operands[0], stage.bytes);
        return true;
    }
    if (count == 2)
        combine_two(call, stage, target, operands[0], operands[1]);
    else
        reduce_many(call.reducer, target, std::span(operands).first(count), stage.elements);
    return true;
}

/// False if the hook gave up.
template <class Wait>
[[gnu::always_inline]] inline bool run_stages(const FusedCall& call, Wait wait) {
    [[maybe_unused]] std::uint64_t since_ns = 0;
    std::uint32_t index = 0;
    for (const FusedStage& stage : call.program.fused.stages) {
        if constexpr (Records<Wait>) since_ns = wait.now();
        store_all(call, stage, index, wait);
        if (!(stage.in_cells ? combine_cells(call, stage, index, wait)
                             : combine_slots(call, stage, index, wait)))
            return false;
        if constexpr (Records<Wait>) wait.ended(index, since_ns);
        ++index;
    }
    return true;
}

}  // namespace weft::run
