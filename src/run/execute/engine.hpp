// SPDX-License-Identifier: BSD-3-Clause
// engine.hpp - drives all operations of all teams of a runtime.
//
// Idea     The start of a call only numbers and queues it. A waiting call polls the wire, all
//          running operations, and all queues whose first call may start by the bank rule. So ranks
//          may start calls of different teams in different orders without a deadlock.
// Holds    Only the thread that holds the turn drives. Only wait(), run(), await(), settle() and
//          drain() wait for peers. If no other call is in flight, a blocking call with a fused form
//          runs without queue, operation object and decoding. An exchange is inlined.
// Next     engine_failures.hpp for members that this file only declares.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "run/execute/fused_runner.hpp"
#include "run/execute/stepper.hpp"
#include "run/execute/team_state.hpp"
#include "run/execute/transport.hpp"
#include "run/execute/turn.hpp"
#include "run/execute/watchdog.hpp"

namespace weft::run {

template <Transport Wire>
class Engine {
  public:
    Engine(Wire& wire, Rank job_rank, EngineOptions options)
        : wire_(wire),
          turn_(options.turn),
          job_rank_(job_rank),
          recorder_(options.recorder),
          stepper_(wire, job_rank, recorder_),
          watchdog_(wire, job_rank, std::move(options.watchdog)),
          status_request_(watchdog_.status_request()) {}

    /// Adds a team. Flags in its region must have ticks below first_tick.
    TeamState& add_team(TeamSetup setup) {
        const Turn::Hold hold = turn_.take();
        TeamState& team = *teams_.emplace_back(std::make_unique<TeamState>(std::move(setup)));
        for (const Rank rank : team.setup.job_ranks) team.add_base(wire_.near(rank));
        team.share_credits();
        watchdog_.deaths().apply(team);
        return team;
    }

    /// Removes a team that has no call in flight.
    void remove_team(TeamState& team) {
        const Turn::Hold hold = turn_.take();
        std::erase_if(teams_, [&](const auto& held) { return held.get() == &team; });
    }

    /// Numbers and queues a call without waiting. The operation is valid until release(). `finish`:
    /// see Operation.
    Operation& start(TeamState& team, const BoundProgram& program, Registers registers,
                     const Reducer& reducer, std::function<void()> finish = nullptr) {
        const Turn::Hold hold = turn_.take();
        Operation& op = start_now(team, program, registers, reducer);
        op.finish = std::move(finish);
        return op;
    }

    /// Releases the operation: the caller must not use it any more. The call continues.
    void release(Operation& op) {
        const Turn::Hold hold = turn_.take();
        detach(op);
    }

    /// Returns true if the call has ended for its caller.
    [[nodiscard]] bool ended(const Operation& op) {
        const Turn::Hold hold = turn_.take();
        return op.ended();
    }

    /// Returns true if no call of the team is in flight or, if the team has failed, no transfer.
    [[nodiscard]] bool idle(const TeamState& team) {
        const Turn::Hold hold = turn_.take();
        return team.failed ? !pool_.has_transfers(team) : team.cells->idle();
    }

    /// Advances all calls as far as possible without new arrivals. Returns true if a call advanced.
    /// Also runs the watchdog, so that callers that only poll detect failures.
    bool poll(Caller caller = Caller::waits) {
        const Turn::Hold hold = turn_.take();
        const Driving driving(*this);
        const bool moved = poll_now(caller);
        if (!moved) external_.drive();
        return moved;
    }
    /// Pauses or yields as wait() does between polls. For callers that poll in a loop.
    void relax() {
        const Turn::Hold hold = turn_.take();
        const Driving driving(*this);
        wire_.relax(engine_wait_.idle_polls);
    }

    /// Polls for a progress thread. Does nothing if a call holds the turn or waits for it.
    HelpOutcome help() {
        const Turn::Hold hold = turn_.try_take();
        if (!hold.owns_lock()) return HelpOutcome::gave_way;
        const std::uint64_t before = activity_of(wire_);
        if (poll_now(Caller::polls) || activity_of(wire_) != before) return HelpOutcome::moved;
        return busy() ? HelpOutcome::waits : HelpOutcome::idle;
    }

    [[nodiscard]] ExternalProgress& external() { return external_; }

    /// Drives the engine until the operation has ended.
    void wait(Operation& op) {
        const Turn::Hold hold = turn_.take();
        const Driving driving(*this);
        drive_until([&] { return op.ended(); }, [&] { return op.position_hash(); });
    }

    /// Makes a blocking call. Returns false if it failed; then failure() has the reason.
    [[gnu::always_inline]] bool run(TeamState& team, const BoundProgram& program,
                                    const Registers& registers, const Reducer& reducer) {
        if (at_rest_ && may_exchange(team, program)) [[likely]]
            return run_exchange(team, program, registers, reducer);
        return run_other(team, program, registers, reducer);
    }

    /// Takes the turn for waits outside a team's calls; see await().
    [[nodiscard]] Turn::Hold take_turn() { return turn_.take(); }

    /// Returns true if several threads may take the turn.
    [[nodiscard]] bool shares_turn() const { return turn_.has_lock(); }
    /// Drives the engine until ended() returns true. The caller holds the turn. describe() returns
    /// a text about this wait, for reports. Returns false, with the reason in failure(), if the
    /// watchdog has ended all waits. In a job that continues after deaths, also returns false if
    /// `involved` has died (a rank of the job) or failed (a team); see Deaths::death_of().
    template <class Ended, class Describe, class Involved = Rank>
    bool await(Ended ended, Describe describe, Involved involved = -1) {
        if (ended() && deaths().death_of(involved) == nullptr) return true;
        const Driving driving(*this);
        engine_wait_ = {};
        struct Described {  // resets the reference to `describe`, also if ended() throws
            std::function<std::string()>& text;
            ~Described() { text = nullptr; }
        } const described{describe_await_ = std::ref(describe)};
        const base::Failure* why = nullptr;
        OwnWait own;
        while ((why = gave_up_ ? lost() : deaths().failure_by(involved)) == nullptr) {
            if (!poll_now()) external_.drive();
            if (ended() && deaths().death_of(involved) == nullptr) return true;
            check_own(own, [] { return 0; });
            pause();
            if (turn_.divided()) describe_await_ = std::ref(describe);  // not another thread's
        }
        failure_ = *why;
        return false;
    }
    /// Returns the reason for which the watchdog has ended all waits, or nullptr.
    [[nodiscard]] const base::Failure* lost() const {
        return gave_up_ ? &watchdog_.failure() : nullptr;
    }

    // The caller of the next two functions holds the turn.
    [[nodiscard]] const Deaths& deaths() const { return watchdog_.deaths(); }
    /// Fails the teams of a rank whose death other ranks have reported.
    void note_death(Rank job_rank);
    /// Fails a team on all its members.
    void revoke(TeamState& team, const base::Failure& why);

    /// Drives the engine until no call of the team is draining (see Operation::State).
    void settle(const TeamState& team) {
        const Turn::Hold hold = turn_.take();
        const Driving driving(*this);
        const auto drains = [&](const Operation* op) {
            return op->team == &team && op->state == Operation::State::draining;
        };
        drive_until([&] { return std::ranges::none_of(running_, drains); }, [] { return 0; });
    }

    /// Drives the engine until all transfers and calls have ended.
    void drain() {
        const Turn::Hold hold = turn_.take();
        const Driving driving(*this);
        drive_until([&] { return !busy(); }, [] { return 0; });
    }

    /// Fails every later call with this reason. No call may be in flight.
    void close(const base::Failure& why) {
        const Turn::Hold hold = turn_.take();
        for (const auto& team : teams_) fail_team(*team, why);
    }

    [[nodiscard]] const base::Failure& failure() const { return failure_; }
    [[nodiscard]] const MappedBytes& mapped_bytes() const { return stepper_.mapped_bytes(); }
    /// Describes each waiting lane: call, step, peer, and the flags expected and present.
    [[nodiscard]] std::vector<WaitingLane> describe_running() const;

  private:
    static constexpr unsigned kExternalEvery = 16;  ///< idle polls between external_.drive()
    static constexpr unsigned kProgressEvery = 16;  ///< every 16th queued blocking call polls first

    friend class Driving<Engine>;

    [[nodiscard]] bool busy() const {
        return !running_.empty() || queued_ != 0 || !failing_.empty();
    }

    /// Advances and starts calls. Polls the network only for completions of calls' last puts.
    bool advance_all() {
        bool moved = advance_running();
        for (; start_queued(); moved = true) advance_running();
        if (!failing_.empty()) [[unlikely]]
            moved = end_failing() || moved;
        if (!moved || std::ranges::none_of(running_, &Operation::waits_only_for_puts)) return moved;
        wire_.progress();
        advance_running();
        return true;
    }

    bool poll_now(Caller caller = Caller::waits) {
        wire_.progress();
        const bool moved = busy() && advance_all();
        if (moved)
            engine_wait_ = {};
        else if (watchdog_.is_due(++engine_wait_.idle_polls))
            check(engine_wait_, caller);
        return moved;
    }

    [[gnu::noinline]] void check(WaitState& wait_state, Caller caller) {
        if (!watchdog_.check(
                wait_state, teams_, [&] { return describe_running(); }, caller))
            give_up();
    }

    /// Polls until ended() returns true. After each poll, even a successful one, nothing more can
    /// advance, so this rank pauses or yields. If ranks share processors, peers can then send data.
    /// position_hash() returns a number that changes when the awaited call advances.
    template <class Ended, class PositionHash>
    void drive_until(Ended ended, PositionHash position_hash) {
        if (ended()) return;
        engine_wait_ = {};  // restarts the watchdog's time of this wait
        for (OwnWait own;; pause()) {
            if (!poll_now() && engine_wait_.idle_polls % kExternalEvery == 0) external_.drive();
            if (ended()) return;
            check_own(own, position_hash);
        }
    }

    /// Runs the watchdog for this wait: calls of other threads may restart `engine_wait_` often.
    template <class PositionHash>
    void check_own(OwnWait& own, PositionHash position_hash) {
        if (!turn_.divided() || !watchdog_.is_due(++own.state.idle_polls)) return;
        if (!own.restart_if_advanced(position_hash())) check(own.state, Caller::waits);
    }

    void pause() {
        wire_.relax(engine_wait_.idle_polls);
        turn_.give_way();
    }

    [[gnu::noinline]] bool run_with_turn(TeamState& team, const BoundProgram& program,
                                         Registers registers, const Reducer& reducer) {
        const Turn::Hold hold = turn_.take();
        const Driving driving(*this);
        if (turn_.divided() || busy() || !prepare_fused(team, program))
            return run_queued(team, program, registers, reducer);
        if (recorder_ != nullptr) return run_fused_recorded(team, program, registers, reducer);
        at_rest_ = !turn_.has_lock();
        return run_fused(team, program, registers, reducer);
    }

    bool run_queued(TeamState& team, const BoundProgram& program, Registers registers,
                    const Reducer& reducer) {
        Operation& op = start_now(team, program, registers, reducer);
        op.recorded.blocking = true;
        // Usually, a call that needs no data from peers ends here, without a poll of the network.
        if (++calls_ % kProgressEvery != 0) advance_all();
        drive_until([&] { return op.ended(); }, [&] { return op.position_hash(); });
        const bool succeeded = op.state != Operation::State::failed;
        if (!succeeded) failure_ = op.failure;
        detach(op);
        return succeeded;
    }

    Operation& start_now(TeamState& team, const BoundProgram& program, Registers registers,
                         const Reducer& reducer) {
        insert_barrier(team, program);
        return enqueue(team, program, registers, reducer, team.bulk_of(program));
    }

    void detach(Operation& op) {
        op.detached = true;
        if (op.is_final()) pool_.recycle(op);
    }

    void insert_barrier(TeamState& team, const BoundProgram& program) {
        if (program.synchronizing) return;
        Window* bulk = team.bulk_of(program);
        if (!team.cells->needs_barrier() && (bulk == nullptr || !bulk->needs_barrier())) return;
        detach(enqueue(team, *team.setup.barrier, {}, {}, bulk));
    }

    /// Numbers and queues a call. `bulk` is the window of its bulk banks, or nullptr.
    Operation& enqueue(TeamState& team, const BoundProgram& program, Registers registers,
                       const Reducer& reducer, Window* bulk) {
        if (at_rest_) at_rest_ = false;  // no needless store to a cache line that threads share
        Operation& op = pool_.take();
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

    bool advance_running() {
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
            end(op);
        }
        return moved;
    }

    void end(Operation& op) {
        if (op.state == Operation::State::failed) {
            stepper_.revoke_exposures(op);
            fail(op);
            return end_failed(op);
        }
        stepper_.unexpose(op);
        op.run_finish();
        op.finish = nullptr;
        op.team->cells->complete(op.epoch, op.program->synchronizing);
        if (op.bulk != nullptr) op.bulk->complete(op.bulk_epoch, op.program->synchronizing);
        if (op.detached) pool_.recycle(op);
    }

    bool start_queued() {
        if (queued_ == 0) return false;
        bool started = false;
        for (const auto& team : teams_) {
            while (!team->queue.empty() && may_start(*team->queue.front())) {
                Operation& op = *team->queue.front();
                team->queue.pop_front();
                --queued_;
                begin(op);
                started = true;
            }
        }
        return started;
    }

    void begin(Operation& op) {
        op.begin();
        op.team->remember(op.epoch, {op.program, op.digest});
        if (op.program->exposes != 0) stepper_.expose(op);
        running_.push_back(&op);
    }

    // --- fused calls ----------------------------------------------------------------------------

    /// Runs the steps of an exchange, without a FusedCall, which the compiler would keep in memory.
    [[gnu::always_inline]] bool run_exchange(TeamState& team, const BoundProgram& program,
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

    [[gnu::noinline]] bool await_exchange(TeamState& team, const BoundProgram& program,
                                          const Reducer& reducer, base::FlagWord flag) {
        return await_flag({team, program, reducer, last_epoch(team), flag}, program.fused.steps[1]);
    }

    /// Runs a call that is not an exchange, or that may have to wait.
    [[gnu::noinline]] bool run_other(TeamState& team, const BoundProgram& program,
                                     const Registers& registers, const Reducer& reducer) {
        if (at_rest_ && may_run_fused(team, program))
            return run_fused(team, program, registers, reducer);
        return run_with_turn(team, program, registers, reducer);
    }

    bool run_fused(TeamState& team, const BoundProgram& program, const Registers& registers,
                   const Reducer& reducer) {
        const FusedCall call = begin_fused(team, program, registers, reducer);
        return make_steps(team, program, [&] {
            return run_steps(
                call, [this](FusedCall copy, const FusedStep& at) { return await_flag(copy, at); });
        });
    }

    bool run_fused_recorded(TeamState& team, const BoundProgram& program, Registers registers,
                            const Reducer& reducer) {
        const Recorder::Open open = recorder_->begin(recorded_call(program), /*blocking=*/true);
        const FusedCall call = begin_fused(team, program, registers, reducer);
        const auto wait = [this](const auto& copy, const auto& at) { return await_flag(copy, at); };
        RecordedWait recorded{wait, *recorder_, job_rank_, call, open};
        const bool done = make_steps(team, program, [&] { return run_steps(call, recorded); });
        recorder_->end(open, team.setup.id, call.epoch);
        return done;
    }

    /// Calls steps(). Returns false if it failed or threw; then failure() has the reason.
    template <class Steps>
    bool make_steps(TeamState& team, const BoundProgram& program, Steps steps) {
        bool done = false;
        try {
            done = steps();
        } catch (...) {
            fail_thrown(team, program);
        }
        if (!done) failure_ = team.failure;
        return done;
    }

    [[gnu::noinline]] void fail_thrown(TeamState& team, const BoundProgram& program) {
        fail_team(team, failure_of_user(program));
        watchdog_.spread_failure(team, last_epoch(team), {&program, team.digest});
    }

    /// Waits for a step's flag. Returns false if the call has failed.
    [[gnu::noinline]] bool await_flag(const FusedCall& call, const FusedStep& step) {
        const Driving driving(*this);
        const base::FlagWord flag = flag_of(call, step);
        for (WaitState wait_state; !has_arrived(call.team, step, flag);) {
            if (wait_state.idle_polls % kExternalEvery == kExternalEvery - 1) external_.drive();
            if (watchdog_.wait(wait_state, teams_,
                               [&] { return std::vector{waiting_lane(call, step)}; }))
                continue;
            give_up();
            if (call.team.failed) return false;
        }
        return true;
    }

    // --- failures: engine_failures.hpp ---------------------------------------------------------

    void fail(Operation& op);
    void fail_team(TeamState& team, const base::Failure& why);
    void end_failed(Operation& op);
    bool end_failing();
    void give_up();
    void fail_affected(const base::Failure& why);

    Wire& wire_;
    Turn turn_;
    Rank job_rank_;
    Recorder* recorder_;
    Stepper<Wire> stepper_;
    Watchdog<Wire> watchdog_;
    StatusRequest& status_request_;
    std::vector<std::unique_ptr<TeamState>> teams_;
    std::vector<Operation*> running_;
    std::vector<Operation*> failing_;  ///< see Operation::State::failing
    std::size_t queued_ = 0;           ///< number of calls in the teams' queues
    WaitState engine_wait_;            ///< polls and time since a call last advanced
    ExternalProgress external_;
    std::function<std::string()> describe_await_;  ///< argument of await(); empty: none
    bool gave_up_ = false;                         ///< the watchdog ended all waits
    /// No call is in flight, the turn is not shared, and calls are not recorded.
    bool at_rest_ = false;
    unsigned calls_ = 0;      ///< number of blocking calls that were queued
    bool cancelled_ = false;  ///< the wire is cancelled
    OperationPool pool_;
    base::Failure failure_;  ///< result of failure()
};

}  // namespace weft::run
