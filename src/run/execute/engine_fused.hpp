// SPDX-License-Identifier: BSD-3-Clause
// engine_fused.hpp - fused calls of the engine: calls that run alone on a node.
//
// Idea     Completes the class Engine. An exchange of two ranks is compiled into its caller, step
//          after step. Other programs use the loop of fused_runner.hpp, in functions of their own.
// Holds    As in fused_runner.hpp. Waits run the watchdog. If it gives up, or the user's operation
//          throws, the team fails.
// Next     engine.hpp for all other calls.
#pragma once

#include "run/execute/engine.hpp"
#include "run/execute/recorded_wait.hpp"

namespace weft::run {

/// Makes the steps of a FusedProgram::exchange, without a loop and without a FusedCall, which
/// would occupy memory.
template <Transport Wire>
inline bool Engine<Wire>::run_exchange(TeamState& team, const BoundProgram& program,
                                       const Registers& registers, const Reducer& reducer) {
    const base::FlagWord flag = begin_exchange(team, program, registers);
    const FusedStep* const steps = program.fused.steps.data();
    try {
        store(team, steps[0], flag);
        if (has_arrived(team, steps[1], flag) || await_exchange(team, program, reducer, flag)) {
            if (steps[2].kind == FusedKind::combine) combine(team, reducer, steps[2]);
            return true;
        }
    } catch (...) {
        fail_thrown(team, program);
    }
    failure_ = team.failure;
    return false;
}

template <Transport Wire>
[[gnu::noinline]] bool Engine<Wire>::await_exchange(TeamState& team, const BoundProgram& program,
                                                    const Reducer& reducer, base::FlagWord flag) {
    return await_flag({team, program, reducer, last_epoch(team), flag}, program.fused.steps[1]);
}

/// Runs a call that is not an exchange, or that cannot run at once.
template <Transport Wire>
[[gnu::noinline]] bool Engine<Wire>::run_other(TeamState& team, const BoundProgram& program,
                                               const Registers& registers, const Reducer& reducer) {
    if (at_rest_ && may_run_fused(team, program))
        return run_fused(team, program, registers, reducer);
    return run_slowly(team, program, registers, reducer);
}

template <Transport Wire>
bool Engine<Wire>::run_fused(TeamState& team, const BoundProgram& program,
                             const Registers& registers, const Reducer& reducer) {
    const FusedCall call = begin_fused(team, program, registers, reducer);
    return make_steps(team, program, [&] {
        return run_steps(call,
                         [this](FusedCall by, const FusedStep& at) { return await_flag(by, at); });
    });
}

template <Transport Wire>
bool Engine<Wire>::run_fused_recorded(TeamState& team, const BoundProgram& program,
                                      Registers registers, const Reducer& reducer) {
    const Recorder::Open open = recorder_->begin(recorded_call(program), true);
    const FusedCall call = begin_fused(team, program, registers, reducer);
    const auto wait = [this](const auto& by, const auto& at) { return await_flag(by, at); };
    RecordedWait recorded{wait, *recorder_, job_rank_, call, open};
    const bool done = make_steps(team, program, [&] { return run_steps(call, recorded); });
    recorder_->end(open, team.setup.id, call.epoch);
    return done;
}

/// Makes the steps. If it returns false, failure() has the reason.
template <Transport Wire>
template <class Steps>
bool Engine<Wire>::make_steps(TeamState& team, const BoundProgram& program, Steps steps) {
    bool done = false;
    try {
        done = steps();
    } catch (...) {
        fail_thrown(team, program);
    }
    if (!done) failure_ = team.failure;
    return done;
}

template <Transport Wire>
[[gnu::noinline]] void Engine<Wire>::fail_thrown(TeamState& team, const BoundProgram& program) {
    fail_team(team, failure_of_user(program));
    watchdog_.spread_failure(team, last_epoch(team), {&program, team.digest});
}

/// Waits for the flag. Returns false if the call has failed.
template <Transport Wire>
[[gnu::noinline]] bool Engine<Wire>::await_flag(const FusedCall& call, const FusedStep& step) {
    const Driving here(*this);
    for (WaitState wait_state; !has_arrived(call.team, step, call.flag);) {
        if (wait_state.failures % kExternalEvery == kExternalEvery - 1) external_.drive();
        if (watchdog_.wait(wait_state, teams_,
                           [&] { return std::vector{waiting_lane(call, step)}; }))
            continue;
        give_up();
        if (call.team.failed) return false;
    }
    return true;
}

}  // namespace weft::run
