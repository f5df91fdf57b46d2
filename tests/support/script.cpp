// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace weft::test {

namespace {

constexpr std::uint64_t kIdleStepsMax = 60'000;  ///< more steps without progress are a hang
constexpr std::size_t kErrorsMax = 20;           ///< later errors are dropped

}  // namespace

Script::Script(VirtualJob& job, std::span<const TeamCall* const> calls, ScriptOptions options)
    : job_(job),
      calls_(calls),
      options_(options),
      random_(base::Random(options.seed).stream(2)),
      made_count_(calls.size(), 0) {
    for (Rank rank = 0; rank < job.size(); ++rank) {
        RankState& state = ranks_.emplace_back();
        for (std::size_t entry = 0; entry < calls.size(); ++entry) {
            if (job.team(calls[entry]->team).rank_of(rank) >= 0) state.calls.push_back(entry);
        }
        state.made.resize(state.calls.size(), false);
    }
}

void Script::fail(std::string text) {
    if (outcome_.errors.size() < kErrorsMax)
        outcome_.errors.push_back(fmt::format("seed {}: {}", options_.seed, text));
}

ScriptOutcome Script::run() {
    std::uint64_t idle = 0;
    while (!done() || job_.in_flight() > 0) {
        ++outcome_.steps;
        if (job_.step([this](Rank rank) { return turn(rank); })) {
            idle = 0;
        } else if (++idle > kIdleStepsMax) {
            outcome_.hung = true;
            fail(fmt::format("no more progress, {} events in flight:\n{}", job_.in_flight(),
                             job_.describe()));
            break;
        }
    }
    for (const std::string& fault : job_.watch().faults()) fail(fault);
    if (!job_.watch().violations().empty()) fail(to_text(job_.watch().violations().front()));
    return std::move(outcome_);
}

bool Script::done() const {
    return std::ranges::all_of(
        ranks_, [](const RankState& state) { return state.all_made() && state.pending.empty(); });
}

bool Script::turn(Rank rank) {
    // Only a third of the turns finish ended calls, so that several calls end in between.
    bool moved = random_.chance(1, 3) && finish_ended(rank);
    if (!random_.chance(options_.eager_percent, 100)) return moved;
    for (std::uint64_t burst = random_.below(4); burst > 0; --burst) {
        if (!make_one(rank)) break;
        moved = true;
    }
    return moved;
}

bool Script::finish_ended(Rank rank) {
    RankState& state = ranks_[rank];
    bool finished = false;
    for (std::size_t i = 0; i < state.pending.size();) {
        if (!state.pending[i].op->ended()) {
            ++i;
            continue;
        }
        finish(rank, state.pending[i]);
        if (options_.keeps_memory) kept_.push_back(std::move(state.pending[i].memory));
        state.pending.erase(state.pending.begin() + static_cast<std::ptrdiff_t>(i));
        finished = true;
    }
    return finished;
}

void Script::finish(Rank rank, Pending& pending) {
    RankState& state = ranks_[rank];
    const TeamCall& call = *calls_[pending.entry];
    if (state.blocked && state.blocked_on == pending.entry) state.blocked = false;
    if (pending.op->state == run::Operation::State::failed) {
        fail(fmt::format("call {} failed at rank {}: {}", pending.entry, rank,
                         pending.op->failure.text));
    } else {
        const std::string wrong =
            check_output(call, {options_.seed, pending.entry}, pending.team_rank, pending.output);
        if (!wrong.empty()) fail(wrong);
        if (call.ends_after_all_entered() &&
            made_count_[pending.entry] != job_.team(call.team).size())
            fail(fmt::format("call {} ({}) ended at rank {} before all members had made it",
                             pending.entry, call.programs.front().description, rank));
    }
    job_.engine(rank).release(*pending.op);
    // After the call's end, its caller may overwrite the buffers.
    constexpr int kNewByte = 1;  // a valid byte of every type, even bool
    if (call.bytes() == 0) return;
    std::memset(pending.input, kNewByte, call.bytes());
    std::memset(pending.output, kNewByte, call.bytes());
}

/// Returns the index in `state.calls` of a call that may be made now: the first unmade call, within
/// the lookahead, of a random team.
std::size_t Script::pick(const RankState& state) {
    std::vector<std::size_t> ready;
    std::vector<std::uint32_t> seen_teams;
    const std::size_t end = std::min(state.calls.size(), state.first_unmade + options_.lookahead);
    for (std::size_t at = state.first_unmade; at < end; ++at) {
        if (state.made[at]) continue;
        const std::uint32_t team = calls_[state.calls[at]]->team;
        if (std::ranges::find(seen_teams, team) != seen_teams.end()) continue;
        seen_teams.push_back(team);
        ready.push_back(at);
    }
    return ready[random_.below(ready.size())];
}

bool Script::make_one(Rank rank) {
    RankState& state = ranks_[rank];
    if (state.blocked || state.all_made()) return false;
    // At its limit, a rank makes only its first unmade call, and only if that call precedes all
    // pending ones: other ranks may wait for it.
    const bool full = state.pending.size() >= options_.outstanding_max;
    if (full && std::ranges::min(state.pending, {}, &Pending::entry).entry <
                    state.calls[state.first_unmade])
        return false;
    const std::size_t at = full ? state.first_unmade : pick(state);
    const bool blocking = at == state.first_unmade && random_.chance(options_.block_percent, 100);
    make(rank, at, blocking);
    return true;
}

void Script::make(Rank rank, std::size_t index, bool blocking) {
    RankState& state = ranks_[rank];
    const std::size_t entry = state.calls[index];
    const TeamCall& call = *calls_[entry];
    const VirtualTeam& team = job_.team(call.team);
    const Rank team_rank = team.rank_of(rank);
    Pending& pending = state.pending.emplace_back();
    pending.entry = entry;
    pending.team_rank = team_rank;
    const bool in_place = random_.chance(options_.in_place_percent, 100);
    const std::size_t bytes = in_place ? call.bytes() : 2 * call.bytes();
    if (!options_.in_segment) pending.memory.resize(bytes);
    pending.output = options_.in_segment ? job_.allocate(rank, bytes) : pending.memory.data();
    pending.input = in_place ? pending.output : pending.output + call.bytes();
    fill_input(call, {options_.seed, entry}, team_rank, pending.input);
    run::Operation& op = job_.engine(rank).start(
        *team.states[team_rank], call.programs[static_cast<std::size_t>(team_rank)],
        {.input = pending.input, .output = pending.output}, call.reducer);
    pending.op = &op;
    job_.watch().record_issue(call.team, team_rank, op);
    if (state.pending.size() > outcome_.outstanding) {
        const auto in_flight = std::ranges::count_if(
            state.pending, [](const Pending& other) { return !other.op->ended(); });
        outcome_.outstanding = std::max(outcome_.outstanding, static_cast<std::size_t>(in_flight));
    }
    ++made_count_[entry];
    state.made[index] = true;
    while (!state.all_made() && state.made[state.first_unmade]) ++state.first_unmade;
    state.blocked = blocking;
    state.blocked_on = entry;
}

}  // namespace weft::test
