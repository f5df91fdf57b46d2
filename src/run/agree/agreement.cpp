// SPDX-License-Identifier: BSD-3-Clause
#include "run/agree/agreement.hpp"

#include <algorithm>
#include <utility>

namespace weft::run {

Agreement::Agreement(Rank rank, Rank size, Ballot vote)
    : rank_(rank),
      size_(size),
      dead_(vote.dead),
      accepted_(std::move(vote)),
      states_(size),
      votes_(accepted_),
      latest_{.dead = RankSet(size)},
      acks_(size) {
    states_.add(rank);
    acks_.add(rank);
    advance();
}

void Agreement::note_death(Rank member) {
    if (dead_.contains(member)) return;
    dead_.add(member);
    advance();
}

void Agreement::receive(Rank from, const AgreementMessage& message) {
    if (decided_) return;
    switch (message.step) {
        case AgreementStep::state:
            states_.add(from);
            if (message.proposer > latest_proposer_) {
                latest_proposer_ = message.proposer;
                latest_ = message.ballot;
            } else if (message.proposer < 0) {
                votes_.word &= message.ballot.word;
                votes_.bound = std::max(votes_.bound, message.ballot.bound);
            }
            dead_.add_all(message.ballot.dead);
            break;
        case AgreementStep::accept:
            // A later coordinator already has this rank's state, which must not change any more.
            if (from != coordinator_) return;
            proposer_ = from;
            accepted_ = message.ballot;
            dead_.add_all(message.ballot.dead);
            outgoing_.push_back({from, {.step = AgreementStep::ack, .ballot = accepted_}});
            break;
        case AgreementStep::ack:
            acks_.add(from);
            break;
        case AgreementStep::decide:
            decide(message.ballot);
            return;
    }
    advance();
}

std::optional<Agreement::Outgoing> Agreement::next_message() {
    while (!outgoing_.empty()) {
        Outgoing next = std::move(outgoing_.front());
        outgoing_.pop_front();
        if (!dead_.contains(next.to)) return next;
    }
    return std::nullopt;
}

Rank Agreement::awaited() const {
    if (decided_) return rank_;
    if (coordinator_ != rank_) return coordinator_;
    const Rank missing = first_missing(proposed_ ? acks_ : states_);
    return missing < size_ ? missing : rank_;
}

Rank Agreement::first_missing(const RankSet& arrived) const {
    Rank rank = 0;
    while (rank < size_ && (arrived.contains(rank) || dead_.contains(rank))) ++rank;
    return rank;
}

void Agreement::advance() {
    if (decided_) return;
    Rank lowest = 0;
    while (lowest != rank_ && dead_.contains(lowest)) ++lowest;
    if (lowest != std::exchange(coordinator_, lowest) && lowest != rank_)
        outgoing_.push_back(
            {lowest, {.step = AgreementStep::state, .proposer = proposer_, .ballot = accepted_}});
    if (lowest != rank_) return;
    if (!proposed_ && first_missing(states_) == size_) propose();
    if (proposed_ && first_missing(acks_) == size_) decide(Ballot(accepted_));
}

/// Proposes the ballot that was accepted last. If an earlier coordinator has decided, all members
/// that may be alive had accepted its ballot, so this is the same ballot.
void Agreement::propose() {
    proposed_ = true;
    if (latest_proposer_ > proposer_) {
        accepted_ = latest_;
    } else if (proposer_ < 0) {
        accepted_ = votes_;
        accepted_.dead = dead_;
    }
    proposer_ = rank_;
    send_all(AgreementStep::accept);
}

void Agreement::decide(const Ballot& ballot) {
    accepted_ = ballot;
    decided_ = true;
    dead_.add_all(ballot.dead);
    outgoing_.clear();
    send_all(AgreementStep::decide);
}

void Agreement::send_all(AgreementStep step) {
    for (Rank to = 0; to < size_; ++to)
        if (to != rank_)
            outgoing_.push_back({to, {.step = step, .proposer = proposer_, .ballot = accepted_}});
}

}  // namespace weft::run
