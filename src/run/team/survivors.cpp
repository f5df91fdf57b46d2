// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/survivors.hpp"

#include "run/job/real_engine.hpp"
#include "run/team/agreement_exchange.hpp"
#include "run/team/team.hpp"

namespace weft::run {

namespace {

base::Result<void> check_survivable(const TeamServices& services) {
    if (services.settings.on_failure == base::FailureAction::proceed) return {};
    return base::fail(Status::unsupported,
                      "this call needs WEFT_ON_FAILURE=continue, which weft run --keep-going sets");
}

base::Result<Ballot> agree(Team& team, std::uint64_t word, std::uint64_t bound, bool is_last) {
    const TeamServices& services = team.services();
    WEFT_TRY(check_survivable(services));
    Ballot vote{word, bound, dead_members(team)};
    RealEngine& engine = services.engine;
    const Turn::Hold hold = engine.take_turn();
    AgreementExchange<RealEngine, link::Wire> exchange(engine, *services.job.wire,
                                                       services.layout.agreements,
                                                       {.team = team.id(),
                                                        .rank = team.rank(),
                                                        .job_ranks = team.state().setup.job_ranks,
                                                        .tick = team.next_agreement()},
                                                       std::move(vote));
    if (!engine.await([&] { return exchange.advance(); }, [&] { return exchange.describe(); }))
        return engine.failure();
    Ballot decision = exchange.decision();
    const auto has_ended = [&] {
        return exchange.all_have_decided() && services.job.wire->in_flight() == 0;
    };
    if (is_last && !engine.await(has_ended, [] {
            return std::string("finalize: waiting for the last messages of all survivors");
        }))
        return engine.failure();
    return decision;
}

}  // namespace

/// Also sets a word at each member, because a verdict can be lost: a member reads its mailbox only
/// while it waits, and another message may overwrite the verdict before that.
base::Result<void> revoke(Team& team) {
    const TeamServices& services = team.services();
    WEFT_TRY(check_survivable(services));
    const TeamSetup& setup = team.state().setup;
    const Rank me = team.job_rank(team.rank());
    services.engine.revoke(team.state(), revocation(setup.id, me));
    const Turn::Hold hold = services.engine.take_turn();
    const Signal notice{setup.revoked,
                        base::flag_word(setup.first_tick, static_cast<std::uint16_t>(me))};
    for (const Rank member : setup.job_ranks)
        if (!services.engine.deaths().contains(member))
            services.onesided.put_signal(member, /*to=*/0, /*from=*/nullptr, /*bytes=*/0, notice,
                                         Return::at_once);
    return {};
}

base::Result<Ballot> agree(Team& team, std::uint64_t word, std::uint64_t bound) {
    return agree(team, word, bound, /*is_last=*/false);
}

base::Result<void> agree_at_end(Team& world) {
    static_cast<void>(WEFT_TRY(agree(world, 0, 0, /*is_last=*/true)));
    return {};
}

RankSet dead_members(const Team& team) {
    const Turn::Hold hold = team.services().engine.take_turn();
    return dead_among(team.state().setup.job_ranks, team.services().engine.deaths());
}

}  // namespace weft::run
