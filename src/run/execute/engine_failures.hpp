// SPDX-License-Identifier: BSD-3-Clause
// engine_failures.hpp - members of the class Engine that fail calls and describe waits.
//
// Holds    A call of a failed team fails at once. A failed call ends when no transfer reads its
//          buffers.
#pragma once

#include <vector>

#include "run/execute/engine.hpp"

namespace weft::run {

/// Fails the team of a failed call, and notifies the ranks that may wait for this rank. First reads
/// verdicts: if a peer's failure is the cause, all calls report the peer's failure.
template <Transport Wire>
void Engine<Wire>::fail(Operation& op) {
    if (!watchdog_.read_inquiries(teams_)) fail_affected(watchdog_.failure());
    const bool is_first = !op.team->failed;
    if (!is_first) op.failure = op.team->failure;
    fail_team(*op.team, op.failure);
    if (is_first) watchdog_.spread_failure(*op.team, op.epoch, {op.program, op.digest});
}

/// Fails the team: its present and all further calls.
template <Transport Wire>
void Engine<Wire>::fail_team(TeamState& team, const base::Failure& why) {
    team.fail(why);
    const auto fail_one = [&](Operation* op) {
        op->failure = why;
        end_failed(*op);
    };
    for (Operation* op : team.queue) fail_one(op);
    queued_ -= team.queue.size();
    team.queue.clear();
    std::erase_if(running_, [&](Operation* op) {
        if (op->team != &team) return false;
        stepper_.revoke_exposures(*op);
        fail_one(op);
        return true;
    });
}

/// Ends a failed call, or moves it to failing_ until no transfer reads its buffers.
template <Transport Wire>
void Engine<Wire>::end_failed(Operation& op) {
    const bool must_wait = op.has_transfers();
    op.state = must_wait ? Operation::State::failing : Operation::State::failed;
    if (must_wait)
        failing_.push_back(&op);
    else if (op.detached)
        pool_.recycle(op);
}

/// Ends failing calls whose transfers are complete. After cancel(), no transfer accesses memory, so
/// all failing calls can end. Returns true if a call has ended.
template <Transport Wire>
bool Engine<Wire>::end_failing() {
    return std::erase_if(failing_, [&](Operation* op) {
               if (cancelled_)
                   for (LaneCursor& lane : op->lanes) lane.pending = 0;
               if (op->has_transfers()) return false;
               end_failed(*op);
               return true;
           }) != 0;
}

/// Fails the affected teams. If all are affected, also ends all waits and cancels the wire.
template <Transport Wire>
void Engine<Wire>::give_up() {
    if (const Rank dead = watchdog_.affected_rank(); dead >= 0) {
        wire_.lose(dead);
        stepper_.forget_ended_peer();
    }
    gave_up_ = gave_up_ || watchdog_.affects_all();
    if (gave_up_ && !cancelled_) wire_.cancel();
    cancelled_ = gave_up_;
    fail_affected(watchdog_.failure());
    end_failing();
}

template <Transport Wire>
void Engine<Wire>::fail_affected(const base::Failure& why) {
    for (const auto& team : teams_)
        if (watchdog_.affects(*team)) fail_team(*team, why);
}

template <Transport Wire>
void Engine<Wire>::note_death(Rank job_rank) {
    if (watchdog_.note_death(job_rank)) give_up();
}

template <Transport Wire>
void Engine<Wire>::revoke(TeamState& team, const base::Failure& why) {
    const Turn::Hold hold = turn_.take();
    if (team.failed) return;
    fail_team(team, why);
    watchdog_.spread_failure(team, last_epoch(team), {team.setup.barrier, team.digest});
}

template <Transport Wire>
std::vector<WaitingLane> Engine<Wire>::describe_running() const {
    std::vector<WaitingLane> lanes;
    for (const Operation* op : running_) stepper_.describe(*op, lanes);
    for (const Operation* op : failing_) lanes.push_back(describe_last_puts(*op));
    for (const auto& team : teams_)
        if (!team->queue.empty()) describe_gate(*team->queue.front(), lanes);
    if (describe_await_) lanes.push_back({.peer = -1, .text = describe_await_()});
    return lanes;
}

}  // namespace weft::run
