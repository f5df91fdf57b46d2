// SPDX-License-Identifier: BSD-3-Clause
// engine.hpp - drives all operations of all teams of a runtime.
//
// Idea     The start of a call only numbers and queues it. A waiting call polls the wire and
//          advances the calls of all teams (calls_in_flight.hpp). So ranks may start calls of
//          different teams in different orders without a deadlock.
// Holds    Only the thread that holds the turn drives. Only wait(), run(), await(), settle() and
//          drain() wait for peers. If no other call is in flight, a blocking call with a fused form
//          runs without queue, operation object and decoding. An exchange is inlined.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "run/execute/calls_in_flight.hpp"
#include "run/execute/fused_runner.hpp"
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
          calls_(wire, job_rank, recorder_),
          watchdog_(wire, job_rank, std::move(options.watchdog)),
          status_request_(watchdog_.status_request()) {}

    /// See CallsInFlight.
    TeamState& add_team(TeamSetup setup) {
        const Turn::Hold hold = turn_.take();
        TeamState& team = calls_.add_team(std::move(setup));
        watchdog_.deaths().apply(team);
        return team;
    }
    void remove_team(TeamState& team) {
        const Turn::Hold hold = turn_.take();
        calls_.remove_team(team);
    }

    /// Numbers and queues a call. The operation is valid until release(). `finish`: see Operation.
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
        calls_.release(op);
    }

    [[nodiscard]] bool ended(const Operation& op) {
        const Turn::Hold hold = turn_.take();
        return op.ended();
    }

    /// See CallsInFlight.
    [[nodiscard]] bool idle(const TeamState& team) {
        const Turn::Hold hold = turn_.take();
        return calls_.idle(team);
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
        return calls_.busy() ? HelpOutcome::waits : HelpOutcome::idle;
    }

    [[nodiscard]] ExternalProgress& external() { return external_; }

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
    void note_death(Rank job_rank) {
        if (watchdog_.note_death(job_rank)) give_up();
    }

    /// Fails a team on all its members.
    void revoke(TeamState& team, const base::Failure& why) {
        const Turn::Hold hold = turn_.take();
        if (team.failed) return;
        calls_.fail_team(team, why);
        watchdog_.spread_failure(team, last_epoch(team), {team.setup.barrier, team.digest});
    }

    /// Drives the engine until no call of the team is draining (see Operation::State).
    void settle(const TeamState& team) {
        const Turn::Hold hold = turn_.take();
        const Driving driving(*this);
        drive_until([&] { return !calls_.drains(team); }, [] { return 0; });
    }

    /// Drives the engine until all transfers and calls have ended.
    void drain() {
        const Turn::Hold hold = turn_.take();
        const Driving driving(*this);
        drive_until([&] { return !calls_.busy(); }, [] { return 0; });
    }

    /// Fails every later call with this reason. No call may be in flight.
    void close(const base::Failure& why) {
        const Turn::Hold hold = turn_.take();
        for (const auto& team : calls_.teams()) calls_.fail_team(*team, why);
    }

    [[nodiscard]] const base::Failure& failure() const { return failure_; }
    [[nodiscard]] const MappedBytes& mapped_bytes() const {
        return calls_.stepper().mapped_bytes();
    }
    /// Describes each waiting lane: call, step, peer, and the flags expected and present.
    [[nodiscard]] std::vector<WaitingLane> describe_running() const {
        std::vector<WaitingLane> lanes = calls_.describe();
        if (describe_await_) lanes.push_back({.peer = -1, .text = describe_await_()});
        return lanes;
    }

  private:
    static constexpr unsigned kExternalEvery = 16;  ///< idle polls between external_.drive()
    static constexpr unsigned kProgressEvery = 16;  ///< every 16th queued blocking call polls first
    /// Scope in which a call drives the engine. Its destructor answers a status request that no
    /// wait has answered. So a program that only makes short calls answers, too.
    struct Driving {
        explicit Driving(Engine& engine) : engine_(engine) { engine_.status_request_.enter(); }
        ~Driving() {
            if (engine_.status_request_.leave()) [[unlikely]]
                engine_.watchdog_.answer_status_request(
                    [this] { return engine_.describe_running(); });
        }
        Driving(const Driving&) = delete;
        Driving& operator=(const Driving&) = delete;

        Engine& engine_;
    };

    bool advance_all() {
        return calls_.advance([this](Operation& op) { fail(op); });
    }

    bool poll_now(Caller caller = Caller::waits) {
        wire_.progress();
        const bool moved = calls_.busy() && advance_all();
        if (moved)
            engine_wait_ = {};
        else if (watchdog_.is_due(++engine_wait_.idle_polls))
            check(engine_wait_, caller);
        return moved;
    }

    [[gnu::noinline]] void check(WaitState& wait_state, Caller caller) {
        if (!watchdog_.check(
                wait_state, calls_.teams(), [&] { return describe_running(); }, caller))
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
    /// The time of the wait restarts when the awaited call advances.
    template <class PositionHash>
    void check_own(OwnWait& own, PositionHash position_hash) {
        if (!turn_.divided() || !watchdog_.is_due(++own.state.idle_polls)) return;
        const std::uint64_t hash = position_hash();
        if (std::exchange(own.position_hash, hash) == hash)
            check(own.state, Caller::waits);
        else
            own.state = {};
    }

    void pause() {
        wire_.relax(engine_wait_.idle_polls);
        turn_.give_way();
    }

    [[gnu::noinline]] bool run_with_turn(TeamState& team, const BoundProgram& program,
                                         Registers registers, const Reducer& reducer) {
        const Turn::Hold hold = turn_.take();
        const Driving driving(*this);
        if (!turn_.divided() && !calls_.busy() && prepare_fused(team, program)) {
            if (recorder_ != nullptr) return run_fused_recorded(team, program, registers, reducer);
            at_rest_ = !turn_.has_lock();
            return run_fused(team, program, registers, reducer);
        }
        Operation& op = start_now(team, program, registers, reducer);
        op.recorded.blocking = true;
        // Usually, a call that needs no data from peers ends here, without a poll of the network.
        if (++queued_calls_ % kProgressEvery != 0) advance_all();
        drive_until([&] { return op.ended(); }, [&] { return op.position_hash(); });
        const bool succeeded = op.state != Operation::State::failed;
        if (!succeeded) failure_ = op.failure;
        calls_.release(op);
        return succeeded;
    }

    Operation& start_now(TeamState& team, const BoundProgram& program, Registers registers,
                         const Reducer& reducer) {
        if (at_rest_) at_rest_ = false;  // no needless store to a cache line that threads share
        return calls_.start(team, program, registers, reducer);
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

    [[gnu::always_inline]] bool run_fused(TeamState& team, const BoundProgram& program,
                                          const Registers& registers, const Reducer& reducer) {
        const FusedCall call = begin_fused(team, program, registers, reducer);
        return make_steps(
            call, [this](FusedCall copy, const FusedStep& at) { return await_flag(copy, at); });
    }

    bool run_fused_recorded(TeamState& team, const BoundProgram& program, Registers registers,
                            const Reducer& reducer) {
        const Recorder::Open open = recorder_->begin(recorded_call(program), /*blocking=*/true);
        const FusedCall call = begin_fused(team, program, registers, reducer);
        const auto wait = [this](const auto& copy, const auto& at) { return await_flag(copy, at); };
        const bool done = make_steps(call, RecordedWait{wait, *recorder_, job_rank_, call, open});
        recorder_->end(open, team.setup.id, call.epoch);
        return done;
    }

    /// Runs all steps. Returns false if they failed or threw; then failure() has the reason.
    template <class Wait>
    bool make_steps(const FusedCall& call, Wait wait) {
        bool done = false;
        try {
            done = run_steps(call, wait);
        } catch (...) {
            fail_thrown(call.team, call.program);
        }
        if (!done) failure_ = call.team.failure;
        return done;
    }

    [[gnu::noinline]] void fail_thrown(TeamState& team, const BoundProgram& program) {
        calls_.fail_team(team, failure_of_user(program));
        watchdog_.spread_failure(team, last_epoch(team), {&program, team.digest});
    }

    /// Waits for a step's flag. Returns false if the call has failed.
    [[gnu::noinline]] bool await_flag(const FusedCall& call, const FusedStep& step) {
        const Driving driving(*this);
        const base::FlagWord flag = flag_of(call, step);
        for (WaitState wait_state; !has_arrived(call.team, step, flag);) {
            if (wait_state.idle_polls % kExternalEvery == kExternalEvery - 1) external_.drive();
            if (watchdog_.wait(wait_state, calls_.teams(),
                               [&] { return std::vector{waiting_lane(call, step)}; }))
                continue;
            give_up();
            if (call.team.failed) return false;
        }
        return true;
    }

    // --- failures ------------------------------------------------------------------------------

    /// Fails the team of a failed call, and notifies the ranks that may wait for this rank. First
    /// reads verdicts: if a peer's failure is the cause, all calls report the peer's failure.
    [[gnu::noinline]] void fail(Operation& op) {
        if (!watchdog_.read_inquiries(calls_.teams())) fail_affected();
        const bool is_first = !op.team->failed;
        if (!is_first) op.failure = op.team->failure;
        calls_.fail_team(*op.team, op.failure);
        if (is_first) watchdog_.spread_failure(*op.team, op.epoch, {op.program, op.digest});
    }
    /// Fails the affected teams. If all are affected, also ends all waits and cancels the wire.
    [[gnu::noinline]] void give_up() {
        if (const Rank dead = watchdog_.affected_rank(); dead >= 0) {
            wire_.lose(dead);
            calls_.stepper().forget_ended_peer();
        }
        gave_up_ = gave_up_ || watchdog_.affects_all();
        if (gave_up_) calls_.cancel();
        fail_affected();
        calls_.end_failing();
    }
    void fail_affected() {
        for (const auto& team : calls_.teams())
            if (watchdog_.affects(*team)) calls_.fail_team(*team, watchdog_.failure());
    }

    Wire& wire_;
    Turn turn_;
    Rank job_rank_;
    Recorder* recorder_;
    CallsInFlight<Wire> calls_;
    Watchdog<Wire> watchdog_;
    StatusRequest& status_request_;
    WaitState engine_wait_;  ///< polls and time since a call last advanced
    ExternalProgress external_;
    std::function<std::string()> describe_await_;  ///< argument of await(); empty: none
    bool gave_up_ = false;                         ///< the watchdog ended all waits
    /// No call is in flight, the turn is not shared, and calls are not recorded.
    bool at_rest_ = false;
    unsigned queued_calls_ = 0;  ///< number of blocking calls that were queued
    base::Failure failure_;      ///< result of failure()
};

}  // namespace weft::run
