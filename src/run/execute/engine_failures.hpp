// SPDX-License-Identifier: BSD-3-Clause
// engine_failures.hpp - completes the class Engine: how calls fail, and descriptions of waits.
//
// Holds    A team that has failed accepts no further calls. The buffers of a failed call return to
//          its caller when no transfer reads them.
// Next     engine.hpp for everything else; watchdog.hpp for the decisions to give up.
#pragma once

#include <vector>

#include "run/execute/engine.hpp"

namespace weft::run {

/// Notifies the ranks that wait for this one. If one of them failed earlier, takes its reason.
template <Transport Wire>
void Engine<Wire>::fail(Operation& op) {
    if (!watchdog_.read_inquiries(teams_)) fail_all(watchdog_.failure());
    const bool is_first = !op.team->failed;
    if (!is_first) op.failure = op.team->failure;
    fail_team(*op.team, op.failure);
    if (is_first) watchdog_.spread_failure(*op.team, op.epoch, {op.program, op.digest});
}

/// Ends all calls of a team as failed. The team accepts no further calls.
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
        stepper_.conceal(*op, true);
        fail_one(op);
        return true;
    });
}

/// Ends a failed call. Its buffers return to the caller when no transfer reads them.
template <Transport Wire>
void Engine<Wire>::end_failed(Operation& op) {
    op.state = op.pending != 0 ? Operation::State::failing : Operation::State::failed;
    if (op.pending != 0)
        failing_.push_back(&op);
    else if (op.detached)
        pool_.give(op);
}

template <Transport Wire>
bool Engine<Wire>::end_settled() {
    return std::erase_if(failing_, [&](Operation* op) {
               if (cancelled_) op->pending = 0;
               if (op->pending != 0) return false;
               end_failed(*op);
               return true;
           }) != 0;
}

/// Ends the waits of one team, or all waits and the wire, as the watchdog decided.
template <Transport Wire>
void Engine<Wire>::give_up() {
    gave_up_ = gave_up_ || watchdog_.blames_all();
    if (gave_up_ && !cancelled_) wire_.cancel();
    cancelled_ = gave_up_;
    fail_all(watchdog_.failure());
    end_settled();
}

template <Transport Wire>
void Engine<Wire>::fail_all(const base::Failure& why) {
    for (const auto& team : teams_) {
        if (watchdog_.blames(*team)) fail_team(*team, why);
    }
}

template <Transport Wire>
std::vector<WaitingLane> Engine<Wire>::describe_running() const {
    std::vector<WaitingLane> lines;
    for (const Operation* op : running_) stepper_.describe(*op, lines);
    for (const Operation* op : failing_) lines.push_back(describe_last(*op));
    for (const auto& team : teams_)
        if (!team->queue.empty()) describe_gate(*team->queue.front(), lines);
    if (also_waits_) lines.push_back({.peer = -1, .text = also_waits_()});
    return lines;
}

}  // namespace weft::run
