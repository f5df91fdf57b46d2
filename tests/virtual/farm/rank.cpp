// SPDX-License-Identifier: BSD-3-Clause
#include "tests/virtual/farm/rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace weft::farm {

using Kind = Act::Kind;

namespace {

/// Returns a reduction that throws, for elements of this size in bytes.
run::Reducer throwing(std::size_t element_bytes) {
    static std::map<std::size_t, run::UserOperation> operations;
    const UserFunction function = [](const void*, void*, std::size_t, void*) {
        throw std::runtime_error("planted failure");
    };
    const auto [entry, added] = operations.try_emplace(
        element_bytes, run::UserOperation{.function = function, .element_bytes = element_bytes});
    return {.user = &entry->second, .element_bytes = element_bytes};
}

}  // namespace

void RankRun::run() {
    for (const std::size_t act : script_.part) {
        perform(act);
        world_.note_progress();
        if (random_.chance(1, 3)) poll_open_calls();
    }
    finish_all(nullptr);
    check_disagreements();
    if (remote_ != nullptr) remote_->quiet(rank_);
    world_.note_done(rank_);
    world_.note_progress();
    while (!world_.all_done()) {
        world_.job().engine(rank_).poll();
        world_.pause(rank_);
    }
}

void RankRun::perform(std::size_t number) {
    const Act& act = world_.scenario.acts[number];
    switch (act.kind) {
        case Kind::collective:
            return collective(number, act.call, act.form);
        case Kind::disagree:
            if (act.team == 0) team0_fails_ = true;
            return collective(number, act.rank == rank_ ? act.instead : act.call, Form::blocking);
        case Kind::throws:
            if (act.team == 0) team0_fails_ = true;
            return collective(number, act.call, Form::blocking);
        case Kind::exchange:
            return exchange(number);
        case Kind::make_team:
            return make_team(act.team);
        case Kind::free_team:
            return free_team(act.team);
        case Kind::kill:
            if (act.rank == rank_) world_.schedule_death(rank_);
            return;
        default:
            if (act.rank != rank_ || remote_ == nullptr) return;
            ++script_.operations;
            return remote_->perform(act, number);
    }
}

// --- collective calls ----------------------------------------------------------------------------

void RankRun::collective(std::size_t act, std::uint32_t number, Form form) {
    const LiveTeam& team = world_.teams[world_.scenario.acts[act].team];
    if (team.state_of(rank_) == nullptr) return;
    const test::TeamCall& bound = team.calls[number];
    Call& call =
        form == Form::persistent ? persistent_call(act, team, number) : new_call(act, team, number);
    const Act& entry = world_.scenario.acts[act];
    call.must_succeed = entry.kind != Kind::disagree && entry.kind != Kind::throws;
    const bool throws = entry.kind == Kind::throws && entry.rank == rank_;
    const run::Reducer reducer =
        throws ? throwing(test::element_bytes(bound.plan.algebra)) : bound.reducer;
    test::fill_input(bound, {world_.scenario.seed, act}, call.member, call.input);
    if (script_.made_by[act]++ == 0) ++script_.operations;
    if (failed_teams_.contains(&team)) ++script_.failed_before[act];
    const run::Registers registers{.input = call.input, .output = call.output};
    if (form == Form::blocking) {
        if (run_blocking(call, registers, reducer)) check_result(call);
        return;
    }
    start(call, registers, reducer);
    // The number of started calls in flight varies.
    const std::size_t open_max = 1 + random_.below(24);
    while (open_.size() > open_max) finish(*open_[random_.below(open_.size())]);
}

RankRun::Call& RankRun::new_call(std::size_t act, const LiveTeam& team, std::uint32_t number) {
    Call& call = calls_.emplace_back();
    call.act = act;
    call.team = &team;
    call.number = number;
    call.member = team.team->rank_of(rank_);
    call.program = &team.calls[number].programs[static_cast<std::size_t>(call.member)];
    allocate_buffers(call, team.calls[number].bytes());
    return call;
}

/// Returns the team's persistent call of this number, after its last start has been finished. The
/// call keeps its memory. After any failure, returns a new call: a peer may still read the memory.
RankRun::Call& RankRun::persistent_call(std::size_t act, const LiveTeam& team,
                                        std::uint32_t number) {
    if (failed_) return new_call(act, team, number);
    Call*& call = persistent_calls_[{&team, number}];
    if (call == nullptr) call = &new_call(act, team, number);
    if (call->op != nullptr) finish(*call);
    call->act = act;
    return *call;
}

void RankRun::allocate_buffers(Call& call, std::size_t bytes) {
    const bool in_place = random_.chance(1, 3);
    const std::size_t total =
        (in_place ? 1 : 2) * bytes + 1;  // never 0, so that pointers are valid
    if (random_.chance(1, 4)) {
        call.output = world_.job().allocate(rank_, total);
    } else {
        call.memory.resize(total);
        call.output = call.memory.data();
    }
    call.input = in_place ? call.output : call.output + bytes;
}

void RankRun::start(Call& call, run::Registers registers, const run::Reducer& reducer) {
    run::TeamState& state = *call.team->state_of(rank_);
    call.op = &world_.job().engine(rank_).start(state, *call.program, registers, reducer);
    if (watched(call))
        world_.job().watch().record_issue(call.team->team->id, call.member, *call.op);
    open_.push_back(&call);
}

/// Returns true if the call succeeded and its result is not checked yet.
bool RankRun::run_blocking(Call& call, run::Registers registers, const run::Reducer& reducer) {
    if (watched(call)) {
        start(call, registers, reducer);
        finish(call);
        return false;
    }
    test::VirtualEngine& engine = world_.job().engine(rank_);
    run::TeamState& state = *call.team->state_of(rank_);
    const bool succeeded = engine.run(state, *call.program, registers, reducer);
    if (!succeeded) record_failure(call, engine.failure());
    return succeeded;
}

void RankRun::finish(Call& call) {
    test::VirtualEngine& engine = world_.job().engine(rank_);
    run::Operation& op = *call.op;
    engine.wait(op);
    std::erase(open_, &call);
    call.op = nullptr;
    if (op.state == run::Operation::State::failed) {
        record_failure(call, op.failure);
    } else {
        check_result(call);
    }
    engine.release(op);
}

/// Checks the result of a successful call, then overwrites the call's memory.
void RankRun::check_result(Call& call) {
    world_.note_progress();
    if (!call.must_succeed || call.act == kNoAct) return;
    const auto exchange = script_.exchanges.find(call.act);
    if (exchange != script_.exchanges.end()) {
        const auto& side = exchange->second[static_cast<std::size_t>(call.member)];
        std::string wrong = test::check_exchange(side, call.act, call.member);
        if (!wrong.empty()) world_.fail(std::move(wrong));
        return;
    }
    const test::TeamCall& bound = call.team->calls[call.number];
    std::string wrong =
        test::check_output(bound, {world_.scenario.seed, call.act}, call.member, call.output);
    if (!wrong.empty()) world_.fail(std::move(wrong));
    const bool after_all = bound.ends_after_all_entered();
    if (after_all && script_.made_by[call.act] != call.team->team->size())
        world_.fail(fmt::format("call {} ({}) is complete at rank {} before all ranks made it",
                                call.act, call.program->description, rank_));
    if (after_all && script_.failed_before[call.act] != 0)
        world_.fail(
            fmt::format("call {} ({}) succeeded at rank {}, but a rank had an earlier failure "
                        "in this team",
                        call.act, call.program->description, rank_));
    std::fill_n(call.output, bound.bytes(), std::byte{0xa5});
    std::fill_n(call.input, bound.bytes(), std::byte{0x5a});
}

/// Records the failure of a call. The failure is an error of the library unless a rank has died, or
/// ranks disagree or throw in the call's team.
void RankRun::record_failure(const Call& call, const base::Failure& failure) {
    world_.note_progress();
    failed_ = true;
    failed_teams_.insert(call.team);
    const auto caused_by = [&](Kind kind, const char* word) {
        const auto is_cause = [&](std::size_t act) {
            const Act& entry = world_.scenario.acts[act];
            return entry.kind == kind && &world_.teams[entry.team] == call.team;
        };
        return failure.status == Status::argument && failure.text.find(word) != std::string::npos &&
               std::ranges::any_of(script_.part, is_cause);
    };
    const bool died = world_.expects_death() && failure.status == Status::peer;
    if (!died && !caused_by(Kind::disagree, "disagree") && !caused_by(Kind::throws, "threw"))
        world_.fail(fmt::format("{} failed at rank {}: {}", call.program->description, rank_,
                                failure.text));
    if (world_.scenario.fault == Fault::forgotten_failure)
        call.team->state_of(rank_)->failed = false;
}

/// Finishes the started calls of a team; nullptr: of all teams.
void RankRun::finish_all(const LiveTeam* team) {
    const auto is_of_team = [&](const Call* call) { return team == nullptr || call->team == team; };
    for (auto found = std::ranges::find_if(open_, is_of_team); found != open_.end();
         found = std::ranges::find_if(open_, is_of_team))
        finish(**found);
}

/// Polls once or not at all, then finishes the started calls that have ended.
void RankRun::poll_open_calls() {
    test::VirtualEngine& engine = world_.job().engine(rank_);
    if (random_.chance(1, 2)) engine.poll();
    for (std::size_t i = 0; i < open_.size();) {
        if (engine.ended(*open_[i]->op)) {
            finish(*open_[i]);
        } else {
            ++i;
        }
    }
}

void RankRun::exchange(std::size_t act) {
    const LiveTeam& team = world_.teams[world_.scenario.acts[act].team];
    if (team.state_of(rank_) == nullptr) return;
    const Rank member = team.team->rank_of(rank_);
    test::ExchangeSide& side = script_.exchanges.at(act)[static_cast<std::size_t>(member)];
    Call& call = calls_.emplace_back();
    call.act = act;
    call.team = &team;
    call.member = member;
    call.program = &side.program;
    if (script_.made_by[act]++ == 0) ++script_.operations;
    if (world_.scenario.acts[act].form != Form::blocking)
        return start(call, registers_of(side), {});
    if (run_blocking(call, registers_of(side), {})) check_result(call);
}

/// After a disagreement in a team, makes a barrier of the team, which must fail on all members.
void RankRun::check_disagreements() {
    for (const std::size_t number : script_.part) {
        const Act& act = world_.scenario.acts[number];
        const LiveTeam& team = world_.teams[act.team];
        if (act.kind != Kind::disagree || team.state_of(rank_) == nullptr) continue;
        const auto hash = [&](std::uint32_t call) {
            return team.calls[call].programs.front().call_hash;
        };
        if (hash(act.call) == hash(act.instead)) return;  // the calls are equal by chance
        Call& call = new_call(kNoAct, team, 0);
        test::VirtualEngine& engine = world_.job().engine(rank_);
        if (engine.run(*team.state_of(rank_), *call.program, {}, {}))
            world_.fail(fmt::format("rank {} completed a barrier though ranks of team {} disagree",
                                    rank_, team.team->id));
        else
            record_failure(call, engine.failure());
    }
}

// --- teams ---------------------------------------------------------------------------------------

/// Makes a barrier of all ranks. Returns false if some rank may not have entered the barrier,
/// because a rank has died. If the barrier fails without a death, all ranks have entered it: the
/// cause is a failure of another rank's next call.
bool RankRun::all_entered() {
    return barrier() || !world_.expects_death();
}

/// Makes a barrier of all ranks. Returns false if it failed.
bool RankRun::barrier() {
    Call& call = new_call(kNoAct, world_.teams.front(), 0);
    if (!watched(call)) return run_blocking(call, {}, {});
    start(call, {}, {});
    run::Operation& op = *call.op;
    world_.job().engine(rank_).wait(op);
    const bool succeeded = op.state == run::Operation::State::complete;
    finish(call);
    return succeeded;
}

/// Leaves the later team, if this rank is in one. Returns false if a rank has died.
bool RankRun::leave_later_team() {
    if (later_team_ == kNoTeam) return true;
    LiveTeam& team = world_.teams[later_team_];
    finish_all(&team);
    if (world_.scenario.fault != Fault::early_free && !all_entered()) return false;
    std::erase_if(persistent_calls_, [&](const auto& entry) { return entry.first.first == &team; });
    world_.leave(team, rank_);
    later_team_ = kNoTeam;
    return true;
}

void RankRun::make_team(std::uint32_t team) {
    if (team0_fails_ || later_team_ == team) return;
    if (world_.scenario.fault == Fault::shared_region) {
        if (world_.teams[team].state_of(rank_) != nullptr) return;
    } else if (!leave_later_team()) {
        return;
    }
    if (world_.scenario.fault != Fault::early_free && !all_entered()) return;
    world_.join(world_.teams[team], rank_);
    later_team_ = team;
}

void RankRun::free_team(std::uint32_t team) {
    if (!team0_fails_ && later_team_ == team) leave_later_team();
}

}  // namespace weft::farm
