// SPDX-License-Identifier: BSD-3-Clause
// fused_runner.hpp - runs the fused form of a program: steps that store, wait for flags, and
// combine.
//
// Why      The functions are inlined into their caller, so that the compiler keeps the state of a
//          call in registers. For the same reason, the function `wait` gets copies of arguments.
// Holds    The functions do not allocate, lock or call the system. `wait` is called if the first
//          test finds no flag. It returns false if the call must end.
#pragma once

#include <array>
#include <cstring>
#include <span>

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "run/bind/bind.hpp"
#include "run/execute/team_state.hpp"
#include "run/execute/watchdog.hpp"

namespace weft::run {

struct FusedCall {
    TeamState& team;
    const BoundProgram& program;
    const Reducer& reducer;
    Epoch epoch;
    base::FlagWord flag;  ///< flag that the call raises and waits for
};

/// Returns true if run_exchange() may run the call now. The team must have no call in flight.
[[nodiscard]] [[gnu::always_inline]] inline bool may_exchange(const TeamState& team,
                                                              const BoundProgram& program) {
    return program.fused.exchange && program.fused.teams <= team.fused_limit &&
           team.cells->may_run_now(program.synchronizing);
}
/// Returns true if the call may run in fused form now. The team must have no call in flight.
[[nodiscard]] inline bool may_run_fused(const TeamState& team, const BoundProgram& program) {
    if (program.fused.teams > team.fused_limit) return false;
    if (program.fused.scratch_bytes > team.scratch_bytes) return false;
    if (!team.cells->may_run_now(program.synchronizing)) return false;
    Window* bulk = team.bulk_of(program);
    if (bulk == nullptr) return true;
    if (program.program.pairwise)
        return !bulk->needs_barrier() && bulk->may_put(bulk->next(), program.bulk_receivers);
    return bulk->may_run_now(program.synchronizing);
}

/// Allocates the team's scratch memory for the program. Returns true if this rank may then run the
/// call in fused form now; false if not, or if a call of the team is in flight.
[[nodiscard]] inline bool prepare_fused(TeamState& team, const BoundProgram& program) {
    if (!team.cells->idle()) return false;
    if (team.scratch_bytes < program.fused.scratch_bytes) {
        team.scratch.resize(program.fused.scratch_bytes);
        team.scratch_bytes = team.scratch.size();
        team.bases[kFusedScratch] = team.scratch.data();
    }
    return may_run_fused(team, program);
}

/// Numbers the call, and sets its base addresses and offsets. Returns the flag of the call.
[[nodiscard]] [[gnu::always_inline]] inline base::FlagWord begin_exchange(
    TeamState& team, const BoundProgram& program, const Registers& registers) {
    const base::Tick tick = team.next_tick++;
    const Epoch epoch = team.cells->run_now(program.synchronizing);
    const Digest digest = team.digest_next(program.call_hash);
    team.remember(epoch, {&program, digest});
    const std::uint64_t bank = team.cell_bank(epoch);
    team.moves[static_cast<std::size_t>(FusedMove::cells)] = bank * base::kCellStride;
    team.moves[static_cast<std::size_t>(FusedMove::published)] = bank * sizeof(base::Cell);
    team.bases[kFusedInput] = const_cast<std::byte*>(registers.input);  // no step writes to it
    team.bases[kFusedOutput] = registers.output;
    return base::flag_word(tick, flag_hash(digest));
}

[[nodiscard]] inline Epoch last_epoch(const TeamState& team) {
    return team.cells->next() - 1;
}

/// Begins a call of any fused program, like begin_exchange().
[[nodiscard]] [[gnu::always_inline]] inline FusedCall begin_fused(TeamState& team,
                                                                  const BoundProgram& program,
                                                                  const Registers& registers,
                                                                  const Reducer& reducer) {
    if (program.bulk) {
        Window& bulk = *team.bulk_of(program);
        team.moves[static_cast<std::size_t>(FusedMove::bulk)] =
            team.bulk_offset(program, bulk.run_now(program.synchronizing));
    }
    const base::FlagWord flag = begin_exchange(team, program, registers);
    team.next_tick += program.segments - 1;
    return {team, program, reducer, last_epoch(team), flag};
}

[[nodiscard]] inline std::byte* address_of(const TeamState& team, const FusedPlace& place) {
    return team.bases[place.base] + place.offset + team.moves[static_cast<std::size_t>(place.move)];
}

[[nodiscard]] inline std::atomic<base::FlagWord>& flag_at(const TeamState& team,
                                                          const FusedPlace& cell) {
    return reinterpret_cast<base::Cell*>(address_of(team, cell))->flag;
}

// Acquire: pairs with the release in store() and in the wires.
[[nodiscard]] inline bool has_arrived(const TeamState& team, const FusedStep& awaited,
                                      base::FlagWord flag) {
    return flag_at(team, awaited.target).load(std::memory_order_acquire) == flag;
}

/// Returns the flag that a step stores or waits for. No later call of the team has begun.
[[nodiscard]] [[gnu::always_inline]] inline base::FlagWord flag_of(const FusedCall& call,
                                                                   const FusedStep& step) {
    if (step.salt == 0) [[likely]]
        return call.flag;
    return base::flag_word(base::tick_of(call.flag), flag_hash(call.team.digest, step.salt));
}

[[nodiscard]] inline WaitingLane waiting_lane(const FusedCall& call, const FusedStep& awaited) {
    return {.team = &call.team,
            .program = &call.program,
            .epoch = call.epoch,
            .digest = call.team.digest,
            .step = awaited.stage,
            .peer = awaited.peer,
            .have = flag_at(call.team, awaited.target).load(std::memory_order_relaxed),
            .want = flag_of(call, awaited)};
}

/// Copies a payload, usually of 8 bytes. The two ranges may overlap.
[[gnu::always_inline]] inline void copy_payload(std::byte* to, const std::byte* from,
                                                std::uint64_t bytes) {
    if (bytes == sizeof(std::uint64_t)) [[likely]] {
        std::uint64_t word;
        std::memcpy(&word, from, sizeof word);
        std::memcpy(to, &word, sizeof word);
    } else if (to != from) {
        base::move_bytes(to, from, bytes);
    }
}

/// Stores the payload of a send step, then the flag. Release: pairs with has_arrived().
[[gnu::always_inline]] inline void store(const TeamState& team, const FusedStep& step,
                                         base::FlagWord flag) {
    if (step.kind == FusedKind::send)
        copy_payload(address_of(team, step.other), address_of(team, step.source), step.amount);
    flag_at(team, step.target).store(flag, std::memory_order_release);
}

/// Combines with a user's operation, which has no kernel.
[[gnu::noinline]] inline void combine_slowly(const TeamState& team, const Reducer& reducer,
                                             const FusedStep& step) {
    const std::byte* operands[] = {address_of(team, step.source), address_of(team, step.other)};
    reduce_many(reducer, address_of(team, step.target), operands, step.amount);
}
[[gnu::always_inline]] inline void combine(const TeamState& team, const Reducer& reducer,
                                           const FusedStep& step) {
    if (reducer.kernel == nullptr) [[unlikely]]
        return combine_slowly(team, reducer, step);
    reducer.kernel(address_of(team, step.target), address_of(team, step.source),
                   address_of(team, step.other), step.amount);
}

/// Reduces many operands. `step` is the first of their `operand` steps. Returns the `reduce` step
/// after these. A FusedCall parameter would make the compiler keep the call in memory.
[[gnu::noinline]] inline const FusedStep* reduce(const TeamState& team, const Reducer& reducer,
                                                 const FusedStep* step) {
    std::array<const std::byte*, kFusedOperands> operands;
    std::size_t count = 0;
    for (; step->kind == FusedKind::operand; ++step)
        operands[count++] = address_of(team, step->source);
    reduce_many(reducer, address_of(team, step->target), std::span(operands).first(count),
                step->amount);
    return step;
}

/// `wait` object with a function that run_steps() calls before each step.
template <class Wait>
concept FollowsSteps = requires(Wait wait, const FusedStep& step) {
    wait.reaches(step);
};

template <class Wait>
bool run_steps(const FusedCall& call, Wait wait) {
    for (const FusedStep* step = call.program.fused.steps.data();; ++step) {
        if constexpr (FollowsSteps<Wait>) wait.reaches(*step);
        switch (step->kind) {
            case FusedKind::send:
            case FusedKind::raise:
                store(call.team, *step, flag_of(call, *step));
                break;
            case FusedKind::await:
                if (!has_arrived(call.team, *step, flag_of(call, *step)) && !wait(call, *step))
                    return false;
                break;
            case FusedKind::copy:
                copy_payload(address_of(call.team, step->target),
                             address_of(call.team, step->source), step->amount);
                break;
            case FusedKind::combine:
                combine(call.team, call.reducer, *step);
                break;
            case FusedKind::operand:
            case FusedKind::reduce:
                step = reduce(call.team, call.reducer, step);
                break;
            case FusedKind::end:
                return true;
            default:
                __builtin_unreachable();
        }
    }
}

/// A `wait` object that also records steps and stages. `wait` is the function without a recorder.
template <class Wait>
struct RecordedWait {
    Wait wait;
    Recorder& recorder;
    Rank own_rank;  ///< rank of the job
    const FusedCall& call;
    const Recorder::Open& open;
    const FusedStep* last = nullptr;  ///< step in progress; nullptr: none
    std::uint64_t step_since_ns = 0;
    std::uint64_t stage_since_ns = 0;

    bool operator()(const FusedCall& awaiting, const FusedStep& awaited) {
        return wait(awaiting, awaited);
    }
    /// Records the previous step, and its stage if `step` is in another one.
    void reaches(const FusedStep& step) {
        const std::uint64_t now_ns = base::monotonic_ns();
        if (last != nullptr) ended(*last, now_ns);
        const bool begins = last == nullptr || last->stage != step.stage;
        if (last != nullptr && (begins || step.kind == FusedKind::end))
            recorder.add(open, {.begin_ns = stage_since_ns,
                                .end_ns = now_ns,
                                .step = last->stage,
                                .kind = EventKind::stage});
        if (begins) stage_since_ns = now_ns;
        step_since_ns = now_ns;
        last = &step;
    }

  private:
    void ended(const FusedStep& step, std::uint64_t now_ns) {
        const bool stored = step.kind == FusedKind::raise || step.kind == FusedKind::send;
        if (!stored && step.kind != FusedKind::await) return;
        const Rank owner = job_rank(static_cast<Rank>(step.target.base - kFusedRegions));
        const std::uint64_t cell =
            step.target.offset + call.team.moves[static_cast<std::size_t>(step.target.move)];
        recorder.add(open,
                     {.begin_ns = step_since_ns,
                      .end_ns = now_ns,
                      .key = key_of(owner, call.team.setup.region + cell, flag_of(call, step)),
                      .bytes = step.amount,
                      .step = step.stage,
                      .peer = step.peer < 0 ? -1 : job_rank(step.peer),
                      .kind = stored ? kind_of_store(step) : EventKind::wait});
    }
    [[nodiscard]] static EventKind kind_of_store(const FusedStep& step) {
        if (step.peer < 0) return EventKind::publish;
        return step.kind == FusedKind::raise ? EventKind::signal : EventKind::put;
    }
    [[nodiscard]] Rank job_rank(Rank member) const { return call.team.setup.job_ranks[member]; }
};

template <class Wait>
RecordedWait(Wait, Recorder&, Rank, const FusedCall&, const Recorder::Open&) -> RecordedWait<Wait>;

}  // namespace weft::run
