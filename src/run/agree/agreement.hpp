// SPDX-License-Identifier: BSD-3-Clause
// agreement.hpp - protocol by which the surviving members of a team agree on a ballot.
//
// Idea     The lowest rank that is not known to be dead coordinates. It collects the state of every
//          other member, proposes a ballot, and decides when every member has accepted the
//          proposal or is known to be dead. A rank that learns the decision relays it to all
//          members before its call returns. If the coordinator dies, the next one proposes the
//          ballot that the members have accepted last, or a new one if no member has accepted any.
// Holds    Uses no clock, no memory of peers and no I/O: the caller carries the messages. Requires
//          that deaths are final, and that each survivor is eventually told of each death. Messages
//          of a dead rank may be lost. The proof is in docs/agreement.md.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "weft/types.hpp"

namespace weft::run {

/// Set of team ranks.
class RankSet {
  public:
    explicit RankSet(Rank size = 0) : words_((static_cast<std::size_t>(size) + 63) / 64) {}

    void add(Rank rank) { words_[word_of(rank)] |= bit_of(rank); }
    void add_all(const RankSet& other);
    [[nodiscard]] bool contains(Rank rank) const {
        return (words_[word_of(rank)] & bit_of(rank)) != 0;
    }
    [[nodiscard]] Rank count() const;
    /// Returns the ranks in ascending order.
    [[nodiscard]] std::vector<Rank> members() const;
    /// The ranks as bits, rank 0 in the lowest bit of the first word.
    [[nodiscard]] std::vector<std::uint64_t>& words() { return words_; }
    [[nodiscard]] const std::vector<std::uint64_t>& words() const { return words_; }

    friend auto operator<=>(const RankSet&, const RankSet&) = default;

  private:
    static std::size_t word_of(Rank rank) { return static_cast<std::size_t>(rank) / 64; }
    static std::uint64_t bit_of(Rank rank) { return std::uint64_t{1} << (rank % 64); }

    std::vector<std::uint64_t> words_;
};

/// A vote, or values on which members agree.
struct Ballot {
    std::uint64_t word = ~std::uint64_t{0};  ///< bitwise and of the votes
    std::uint64_t bound = 0;                 ///< maximum of the votes
    RankSet dead;                            ///< union of the votes, and later deaths

    friend auto operator<=>(const Ballot&, const Ballot&) = default;
};

enum class AgreementStep : std::uint8_t {
    state,   ///< to the coordinator: the accepted proposal, or else the vote
    accept,  ///< from the coordinator: its proposal
    ack,     ///< to the coordinator: its proposal is accepted
    decide,  ///< the decision
};
inline constexpr std::size_t kAgreementSteps = 4;

/// Message between two members. Each member sends each step at most once to each other member.
struct AgreementMessage {
    AgreementStep step = AgreementStep::state;
    Rank proposer = -1;  ///< state: coordinator that proposed the ballot; -1: the ballot is a vote
    Ballot ballot;

    friend auto operator<=>(const AgreementMessage&, const AgreementMessage&) = default;
};

/// One agreement of one member.
class Agreement {
  public:
    struct Outgoing {
        Rank to = 0;
        AgreementMessage message;
        friend auto operator<=>(const Outgoing&, const Outgoing&) = default;
    };

    /// `vote.dead` contains the members that this rank knows to be dead, for `size` members.
    Agreement(Rank rank, Rank size, Ballot vote);

    /// Records the death of a member. Repeated reports have no effect.
    void note_death(Rank member);
    /// Handles a message. Messages may arrive in any order.
    void receive(Rank from, const AgreementMessage& message);
    /// Returns the next message to send, and removes it. Returns nullopt if no message is left.
    [[nodiscard]] std::optional<Outgoing> next_message();

    [[nodiscard]] bool decided() const { return decided_; }
    /// Returns the decision. decided() must be true.
    [[nodiscard]] const Ballot& decision() const { return accepted_; }
    /// Returns a member whose message or death this rank awaits; the rank itself if none.
    [[nodiscard]] Rank awaited() const;

    friend auto operator<=>(const Agreement&, const Agreement&) = default;

  private:
    void advance();
    void propose();
    void decide(const Ballot& ballot);
    void send_all(AgreementStep step);
    /// Returns the first member that is neither in `arrived` nor dead, or size_.
    [[nodiscard]] Rank first_missing(const RankSet& arrived) const;

    Rank rank_;
    Rank size_;
    RankSet dead_;
    Rank coordinator_ = -1;  ///< the last coordinator to which this rank sent its state; -1: none
    Rank proposer_ = -1;     ///< proposer of accepted_; -1: accepted_ is this rank's vote
    Ballot accepted_;
    RankSet states_;             ///< coordinator: members whose states have arrived
    Ballot votes_;               ///< coordinator: combination of the votes
    Rank latest_proposer_ = -1;  ///< coordinator: highest proposer in a state; -1: none
    Ballot latest_;              ///< coordinator: ballot of latest_proposer_
    RankSet acks_;               ///< coordinator: members that have accepted
    bool proposed_ = false;
    bool decided_ = false;
    std::deque<Outgoing> outgoing_;
};

}  // namespace weft::run
