// SPDX-License-Identifier: BSD-3-Clause
// survivors.cpp - carries the messages of agreements.
//
// Idea     The messages of run/agree are puts to entries in every member's segment, one for each
//          sender and step (AgreementArea). The flag of an entry has the tick of the agreement.
// Holds    A rank reads its entries after it has read the list of deaths, so it sees all messages
//          that a local rank sent before its death.
#include "run/team/survivors.hpp"

#include <cstring>
#include <list>
#include <vector>

#include "run/job/real_engine.hpp"
#include "run/team/team.hpp"

namespace weft::run {

namespace {

RankSet dead_in(const Team& team, const Deaths& deaths) {
    RankSet dead(team.size());
    for (Rank member = 0; member < team.size() && !deaths.ranks.empty(); ++member)
        if (deaths.contains(team.job_rank(member))) dead.add(member);
    return dead;
}

/// Carries the messages of one agreement. The caller holds the turn.
class AgreementExchange {
  public:
    AgreementExchange(const TeamServices& services, Team& team, Ballot vote)
        : engine_(services.engine),
          wire_(*services.job.wire),
          area_(services.layout.agreements),
          team_(team),
          own_(wire_.near(services.job.bootstrap->rank())),
          flag_(base::flag_word(team.next_agreement(), kHash)),
          seen_(static_cast<std::size_t>(team.size()) * kAgreementSteps),
          agreement_(team.rank(), team.size(), std::move(vote)) {}

    [[nodiscard]] base::Result<Ballot> run() {
        const auto waits = [&] {
            return fmt::format("agree on team {}: waiting for rank {}", team_.id(),
                               team_.job_rank(agreement_.awaited()));
        };
        if (!engine_.await([&] { return advance(); }, waits)) return engine_.failure();
        for (const Rank member : agreement_.decision().dead.members())
            engine_.note_death(team_.job_rank(member));
        return agreement_.decision();
    }

  private:
    static constexpr std::uint16_t kHash = 1;  // not 0, so the zeros of an unused cell are no flag

    /// A message whose put may still read its source.
    struct Sent {
        Rank to = 0;
        BallotHead head;
        std::vector<std::uint64_t> dead;
        base::PutPart parts[2];
        base::Put put;
        std::uint64_t resume = 0;
        std::uint32_t pending = 0;
        bool posted = false;
    };

    /// Handles arrived messages and deaths, and sends. Returns true if this rank has decided and
    /// its messages have left.
    bool advance() {
        const RankSet dead = dead_in(team_, engine_.deaths());
        for (Rank member = 0; member < team_.size(); ++member)
            if (member != team_.rank()) read_messages(member);
        for (const Rank member : dead.members()) agreement_.note_death(member);
        while (auto next = agreement_.next_message()) prepare(std::move(*next));
        std::erase_if(sent_, [&](Sent& sent) { return has_left(sent); });
        return agreement_.decided() && sent_.empty();
    }

    void read_messages(Rank member) {
        for (std::size_t step = 0; step < kAgreementSteps; ++step) {
            const std::size_t entry = static_cast<std::size_t>(member) * kAgreementSteps + step;
            if (seen_[entry]) continue;
            const std::uint64_t at =
                area_.cell(team_.id(), member, static_cast<AgreementStep>(step));
            wire_.settle(at);
            const auto* cell = reinterpret_cast<const base::Cell*>(own_ + at);
            // Acquire: pairs with the release of the flag; makes the message visible.
            if (cell->flag.load(std::memory_order_acquire) != flag_) continue;
            seen_[entry] = true;
            agreement_.receive(member, message_at(at, static_cast<AgreementStep>(step)));
        }
    }

    [[nodiscard]] AgreementMessage message_at(std::uint64_t cell, AgreementStep step) const {
        const std::byte* const from = own_ + cell + base::kCellStride;
        BallotHead head;
        std::memcpy(&head, from, sizeof head);
        AgreementMessage message{.step = step,
                                 .proposer = static_cast<Rank>(head.proposer),
                                 .ballot = {head.word, head.bound, RankSet(team_.size())}};
        std::vector<std::uint64_t>& words = message.ballot.dead.words();
        std::memcpy(words.data(), from + sizeof head, words.size() * sizeof(std::uint64_t));
        return message;
    }

    void prepare(Agreement::Outgoing next) {
        const Ballot& ballot = next.message.ballot;
        Sent& sent = sent_.emplace_back();
        sent.to = team_.job_rank(next.to);
        sent.head = {ballot.word, ballot.bound, next.message.proposer};
        sent.dead = ballot.dead.words();
        sent.parts[0] = {reinterpret_cast<const std::byte*>(&sent.head), sizeof sent.head};
        sent.parts[1] = {reinterpret_cast<const std::byte*>(sent.dead.data()),
                         sent.dead.size() * sizeof(std::uint64_t)};
        const std::uint64_t cell = area_.cell(team_.id(), team_.rank(), next.message.step);
        sent.put = {.peer = sent.to,
                    .parts = sent.parts,
                    .bytes = sent.parts[0].bytes + sent.parts[1].bytes,
                    .target = cell + base::kCellStride,
                    .cell = cell,
                    .flag = flag_,
                    .pending = &sent.pending};
    }

    /// Posts a message if it is not posted. Returns true if its put does not read it any more.
    bool has_left(Sent& sent) {
        if (!sent.posted) sent.posted = wire_.try_put(sent.put, sent.resume) == base::Post::posted;
        return sent.posted && sent.pending == 0;
    }

    RealEngine& engine_;
    link::Wire& wire_;
    const AgreementArea& area_;
    Team& team_;
    std::byte* own_;  ///< this rank's segment
    base::FlagWord flag_;
    std::vector<bool> seen_;  ///< by member and step
    Agreement agreement_;
    std::list<Sent> sent_;
};

}  // namespace

void revoke(Team& team) {
    const Rank me = team.job_rank(team.rank());
    team.services().engine.revoke(
        team.state(), base::fail(Status::peer, "team {} was revoked by rank {}", team.id(), me));
}

base::Result<Ballot> agree(Team& team, std::uint64_t word, std::uint64_t bound) {
    const TeamServices& services = team.services();
    if (services.settings.on_failure != base::FailureAction::proceed)
        return base::fail(Status::unsupported,
                          "agreement of survivors needs WEFT_ON_FAILURE=continue, which weft run "
                          "--keep-going sets");
    Ballot vote{word, bound, dead_members(team)};
    const Turn::Hold hold = services.engine.take_turn();
    return AgreementExchange(services, team, std::move(vote)).run();
}

RankSet dead_members(const Team& team) {
    const Turn::Hold hold = team.services().engine.take_turn();
    return dead_in(team, team.services().engine.deaths());
}

}  // namespace weft::run
