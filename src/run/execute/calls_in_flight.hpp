// SPDX-License-Identifier: BSD-3-Clause
// calls_in_flight.hpp - queues, starts, advances and ends the calls of all teams.
//
// Idea     A call is numbered and queued in its team. It starts when its banks are free by the bank
//          rule (window.hpp). So calls of different teams start in any order.
// Holds    No function waits. A call of a failed team fails at once. A failed call ends when no
//          transfer reads its buffers. The caller holds the engine's turn.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "run/execute/stepper.hpp"
#include "run/execute/team_state.hpp"
#include "run/execute/transport.hpp"

namespace weft::run {

template <Transport Wire>
class CallsInFlight {
  public:
    CallsInFlight(Wire& wire, Rank job_rank, Recorder* recorder)
        : wire_(wire), recorder_(recorder), stepper_(wire, job_rank, recorder) {}

    /// Adds a team. Flags in its region must have ticks below first_tick.
    TeamState& add_team(TeamSetup setup) {
        TeamState& team = *teams_.emplace_back(std::make_unique<TeamState>(std::move(setup)));
        for (const Rank rank : team.setup.job_ranks) team.add_base(wire_.near(rank));
        team.share_credits();
        return team;
    }
    /// Removes a team that has no call in flight.
    void remove_team(TeamState& team) {
        std::erase_if(teams_, [&](const auto& held) { return held.get() == &team; });
    }
    [[nodiscard]] const std::vector<std::unique_ptr<TeamState>>& teams() const { return teams_; }
    [[nodiscard]] Stepper<Wire>& stepper() { return stepper_; }
    [[nodiscard]] const Stepper<Wire>& stepper() const { return stepper_; }

    [[nodiscard]] bool busy() const {
        return !running_.empty() || queued_ != 0 || !failing_.empty();
    }
    /// Returns true if no call of the team is in flight or, if the team has failed, no transfer.
    [[nodiscard]] bool idle(const TeamState& team) const {
        return !team.failed ? team.cells->idle()
                            : std::ranges::none_of(operations_, [&](const Operation& op) {
                                  return op.team == &team && op.has_transfers();
                              });
    }
    [[nodiscard]] bool drains(const TeamState& team) const {
        return std::ranges::any_of(running_, [&](const Operation* op) {
            return op->team == &team && op->state == Operation::State::draining;
        });
    }

    /// Numbers and queues a call, after a barrier if needed. Valid until release().
    Operation& start(TeamState& team, const BoundProgram& program, Registers registers,
                     const Reducer& reducer) {
        Window* const bulk = team.bulk_of(program);
        if (!program.synchronizing &&
            (team.cells->needs_barrier() || (bulk != nullptr && bulk->needs_barrier())))
            release(enqueue(team, *team.setup.barrier, {}, {}, bulk));
        return enqueue(team, program, registers, reducer, bulk);
    }
    /// Releases the operation: the caller must not use it any more. The call continues.
    void release(Operation& op) {
        op.detached = true;
        if (op.is_final()) recycle(op);
    }

    /// Advances and starts calls. Polls the network only for completions of calls' last puts. Calls
    /// fail() for each call that has failed, before the call ends; it may fail teams.
    template <class Fail>
    bool advance(Fail fail) {
        bool moved = advance_running(fail);
        for (; start_queued(); moved = true) advance_running(fail);
        if (!failing_.empty()) [[unlikely]]
            moved = end_failing() || moved;
        if (!moved || std::ranges::none_of(running_, &Operation::waits_only_for_puts)) return moved;
        wire_.progress();
        advance_running(fail);
        return true;
    }

    /// Fails the team: its present and all further calls.
    void fail_team(TeamState& team, const base::Failure& why) {
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
    /// Cancels the wire: no transfer accesses memory any more, so all failing calls can end.
    void cancel() {
        if (!std::exchange(cancelled_, true)) wire_.cancel();
    }
    /// Ends failing calls whose transfers are complete. Returns true if a call has ended.
    bool end_failing() {
        return std::erase_if(failing_, [&](Operation* op) {
                   if (cancelled_)
                       for (LaneCursor& lane : op->lanes) lane.pending = 0;
                   if (op->has_transfers()) return false;
                   end_failed(*op);
                   return true;
               }) != 0;
    }

    [[nodiscard]] std::vector<WaitingLane> describe() const {
        std::vector<WaitingLane> lanes;
        for (const Operation* op : running_) stepper_.describe(*op, lanes);
        for (const Operation* op : failing_)
            lanes.push_back(describe_step(*op, op->program->steps.size()));
        for (const auto& team : teams_)
            if (!team->queue.empty()) describe_gate(*team->queue.front(), lanes);
        return lanes;
    }

  private:
    /// Numbers and queues a call. `bulk` is the window of its bulk banks, or nullptr.
    Operation& enqueue(TeamState& team, const BoundProgram& program, Registers registers,
                       const Reducer& reducer, Window* bulk) {
        if (free_.empty()) free_.push_back(&operations_.emplace_back());
        Operation& op = *free_.back();
        free_.pop_back();
        op.state = Operation::State::queued;
        op.detached = false;
        op.finish = nullptr;
        op.finished = false;
        op.team = &team;
        op.program = &program;
        op.registers = registers;
        op.reducer = reducer;
        if (recorder_ != nullptr)
            op.recorded = recorder_->begin(recorded_call(program), /*blocking=*/false);
        number(op, bulk);
        stepper_.reserve(program);
        if (team.failed) {
            op.state = Operation::State::failed;
            op.failure = team.failure;
            return op;
        }
        team.queue.push_back(&op);
        ++queued_;
        return op;
    }

    bool start_queued() {
        if (queued_ == 0) return false;
        bool started = false;
        for (const auto& team : teams_) {
            while (!team->queue.empty() && may_start(*team->queue.front())) {
                Operation& op = *team->queue.front();
                team->queue.pop_front();
                --queued_;
                op.begin();
                team->remember(op.epoch, {op.program, op.digest});
                if (op.program->exposes != 0) stepper_.expose(op);
                running_.push_back(&op);
                started = true;
            }
        }
        return started;
    }

    template <class Fail>
    bool advance_running(Fail& fail) {
        bool moved = false;
        for (std::size_t i = 0; i < running_.size();) {
            Operation& op = *running_[i];
            const bool was_draining = op.state == Operation::State::draining;
            moved = stepper_.advance(op) || moved;
            if (recorder_ != nullptr && op.ended() && !was_draining &&
                op.state != Operation::State::failed)
                recorder_->end(op.recorded, op.team->setup.id, op.epoch);
            if (!op.is_final()) {
                if (op.state == Operation::State::draining) op.run_finish();
                ++i;
                continue;
            }
            running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
            if (op.state == Operation::State::failed) {
                stepper_.revoke_exposures(op);
                fail(op);
                end_failed(op);
            } else {
                complete(op);
            }
        }
        return moved;
    }

    void complete(Operation& op) {
        stepper_.unexpose(op);
        op.run_finish();
        op.finish = nullptr;
        op.team->cells->complete(op.epoch, op.program->synchronizing);
        if (op.bulk != nullptr) op.bulk->complete(op.bulk_epoch, op.program->synchronizing);
        if (op.detached) recycle(op);
    }
    /// Recycles an operation, unless transfers are in flight: the wire may still write to it.
    void recycle(Operation& op) {
        if (!op.has_transfers()) free_.push_back(&op);
    }
    /// Ends a failed call, or moves it to failing_ until no transfer reads its buffers.
    void end_failed(Operation& op) {
        const bool must_wait = op.has_transfers();
        op.state = must_wait ? Operation::State::failing : Operation::State::failed;
        if (must_wait)
            failing_.push_back(&op);
        else if (op.detached)
            recycle(op);
    }

    Wire& wire_;
    Recorder* recorder_;
    Stepper<Wire> stepper_;
    std::vector<std::unique_ptr<TeamState>> teams_;
    std::vector<Operation*> running_;
    std::vector<Operation*> failing_;  ///< see Operation::State::failing
    std::size_t queued_ = 0;           ///< number of calls in the teams' queues
    bool cancelled_ = false;           ///< the wire is cancelled
    std::deque<Operation> operations_;
    std::vector<Operation*> free_;  ///< recycled, so that repeated calls do not allocate
};

}  // namespace weft::run
