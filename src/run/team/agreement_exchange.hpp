// SPDX-License-Identifier: BSD-3-Clause
// agreement_exchange.hpp - carries the messages of one agreement of one rank over a wire.
//
// Idea     Each member's segment has an entry for each sender and step (AgreementArea). A message
//          of run/agree is a put to such an entry. Its flag has the tick of the agreement.
// Holds    A rank reads the list of deaths first, then its entries. So it sees all messages that a
//          dead local rank sent before its death.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <list>
#include <span>
#include <utility>
#include <vector>

#include "base/put.hpp"
#include "base/result.hpp"
#include "run/agree/agreement.hpp"
#include "run/execute/engine.hpp"

namespace weft::run {

struct AgreementSetup {
    std::uint32_t team = 0;
    Rank rank = 0;                    ///< this rank in the team
    std::span<const Rank> job_ranks;  ///< by team rank; must outlive the agreement
    base::Tick tick = 0;              ///< differs from the ticks of earlier agreements in the team
};

/// Returns the members of a team that are known to be dead.
[[nodiscard]] inline RankSet dead_among(std::span<const Rank> job_ranks, const Deaths& deaths) {
    RankSet dead(static_cast<Rank>(job_ranks.size()));
    for (std::size_t member = 0; member < job_ranks.size() && !deaths.ranks.empty(); ++member)
        if (deaths.contains(job_ranks[member])) dead.add(static_cast<Rank>(member));
    return dead;
}

template <class Engine, Transport Wire>
class AgreementExchange {
  public:
    AgreementExchange(Engine& engine, Wire& wire, const AgreementArea& area,
                      const AgreementSetup& setup, Ballot vote)
        : engine_(engine),
          wire_(wire),
          area_(area),
          setup_(setup),
          own_(wire.near(setup.job_ranks[static_cast<std::size_t>(setup.rank)])),
          flag_(base::flag_word(setup.tick, kHash)),
          seen_(setup.job_ranks.size() * kAgreementSteps),
          agreement_(setup.rank, size(), std::move(vote)) {}
    AgreementExchange(const AgreementExchange&) = delete;
    AgreementExchange& operator=(const AgreementExchange&) = delete;

    /// Handles arrived messages and deaths, and sends. Returns true if this rank has decided and
    /// its puts are complete. The caller holds the turn, and polls the engine between two calls.
    bool advance() {
        const RankSet dead = dead_among(setup_.job_ranks, engine_.deaths());
        for (Rank member = 0; member < size(); ++member)
            if (member != setup_.rank) read_messages(member);
        for (const Rank member : dead.members()) agreement_.note_death(member);
        while (auto next = agreement_.next_message()) add_put(std::move(*next));
        std::erase_if(puts_, [&](MessagePut& message) { return is_sent(message); });
        return agreement_.decided() && puts_.empty();
    }

    /// Returns the decision, after advance() has returned true. Fails teams of further dead ranks.
    [[nodiscard]] const Ballot& decision() {
        for (const Rank member : agreement_.decision().dead.members())
            engine_.note_death(job_rank(member));
        return agreement_.decision();
    }
    /// Returns true if each other member has sent its decision or is known to be dead.
    [[nodiscard]] bool all_have_decided() {
        for (Rank member = 0; member < size(); ++member) {
            if (member == setup_.rank || engine_.deaths().contains(job_rank(member))) continue;
            if (!has_arrived(member, AgreementStep::decide)) return false;
        }
        return true;
    }
    [[nodiscard]] std::string describe() const {
        return fmt::format("agree on team {}: waiting for rank {}", setup_.team,
                           job_rank(agreement_.awaited()));
    }

  private:
    static constexpr std::uint16_t kHash = 1;  // not 0, so the zeros of an unused cell are no flag

    /// Put of a message of this rank, with its source.
    struct MessagePut {
        std::vector<std::uint64_t> words;
        base::PutPart part;
        base::Put put;
        std::uint64_t resume = 0;
        std::uint32_t pending = 0;
        bool posted = false;
    };

    [[nodiscard]] Rank size() const { return static_cast<Rank>(setup_.job_ranks.size()); }
    [[nodiscard]] Rank job_rank(Rank member) const {
        return setup_.job_ranks[static_cast<std::size_t>(member)];
    }

    [[nodiscard]] std::uint64_t cell(Rank sender, AgreementStep step) const {
        return area_.cell(setup_.team, sender, step, setup_.tick);
    }
    [[nodiscard]] bool has_arrived(Rank member, AgreementStep step) {
        const std::uint64_t at = cell(member, step);
        wire_.settle(at);
        const auto* cell = reinterpret_cast<const base::Cell*>(own_ + at);
        // Acquire: pairs with the release of the flag; makes the message visible.
        return cell->flag.load(std::memory_order_acquire) == flag_;
    }

    void read_messages(Rank member) {
        for (std::size_t number = 0; number < kAgreementSteps; ++number) {
            const std::size_t entry = static_cast<std::size_t>(member) * kAgreementSteps + number;
            const auto step = static_cast<AgreementStep>(number);
            if (seen_[entry] || !has_arrived(member, step)) continue;
            seen_[entry] = true;
            agreement_.receive(member, message_at(member, step));
        }
    }

    [[nodiscard]] AgreementMessage message_at(Rank sender, AgreementStep step) const {
        const std::byte* const from = own_ + cell(sender, step) + base::kCellStride;
        std::uint64_t head[AgreementArea::kHeadWords];
        std::memcpy(head, from, sizeof head);
        AgreementMessage message{.step = step,
                                 .proposer = static_cast<Rank>(head[2]),
                                 .ballot = {head[0], head[1], RankSet(size())}};
        std::vector<std::uint64_t>& words = message.ballot.dead.words();
        std::memcpy(words.data(), from + sizeof head, words.size() * sizeof(std::uint64_t));
        // A damaged message must not name members that the team does not have.
        if (const Rank last = size() % 64; last != 0)
            words.back() &= (std::uint64_t{1} << last) - 1;
        return message;
    }

    void add_put(Agreement::Outgoing next) {
        const Ballot& ballot = next.message.ballot;
        MessagePut& added = puts_.emplace_back();
        added.words = {ballot.word, ballot.bound,
                       static_cast<std::uint64_t>(next.message.proposer)};
        std::ranges::copy(ballot.dead.words(), std::back_inserter(added.words));
        added.part = {reinterpret_cast<const std::byte*>(added.words.data()),
                      added.words.size() * sizeof(std::uint64_t)};
        const std::uint64_t at = cell(setup_.rank, next.message.step);
        added.put = {.peer = job_rank(next.to),
                     .parts = {&added.part, 1},
                     .bytes = added.part.bytes,
                     .target = at + base::kCellStride,
                     .cell = at,
                     .flag = flag_,
                     .pending = &added.pending};
    }

    /// Posts a message unless it is posted. Returns true if its put is complete.
    bool is_sent(MessagePut& message) {
        if (!message.posted)
            message.posted = wire_.try_put(message.put, message.resume) == base::Post::posted;
        return message.posted && message.pending == 0;
    }

    Engine& engine_;
    Wire& wire_;
    AgreementArea area_;
    AgreementSetup setup_;
    std::byte* own_;  ///< this rank's segment
    base::FlagWord flag_;
    std::vector<bool> seen_;  ///< by member and step
    Agreement agreement_;
    std::list<MessagePut> puts_;  ///< not complete
};

}  // namespace weft::run
