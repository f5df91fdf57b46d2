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

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// Set of team ranks.
class RankSet {
  public:
    explicit RankSet(Rank size = 0) : words_((static_cast<std::size_t>(size) + 63) / 64) {}
    void add(Rank rank) { words_[word_of(rank)] |= bit_of(rank); }
    void add_all(const RankSet& other) {
        for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    }
    [[nodiscard]] bool contains(Rank rank) const {
        return (words_[word_of(rank)] & bit_of(rank)) != 0;
    }
    [[nodiscard]] Rank count() const { return static_cast<Rank>(members().size()); }
    /// Returns the ranks in ascending order.
    [[nodiscard]] std::vector<Rank> members() const {
        std::vector<Rank> members;
        for (Rank rank = 0; rank < static_cast<Rank>(64 * words_.size()); ++rank)
            if (contains(rank)) members.push_back(rank);
        return members;
    }
    /// The ranks as bits, rank 0 in the lowest bit of the first word.
    [[nodiscard]] std::vector<std::uint64_t>& words() { return words_; }
    [[nodiscard]] const std::vector<std::uint64_t>& words() const { return words_; }
    friend auto operator<=>(const RankSet&, const RankSet&) = default;

  private:
    static std::size_t word_of(Rank rank) { return static_cast<std::size_t>(rank) / 64; }
    static std::uint64_t bit_of(Rank rank) { return std::uint64_t{1} << (rank % 64); }

    std::vector<std::uint64_t> words_;
};

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

/// Memory in every segment for the messages of agreements. Each team region has an entry for each
/// member and step, so each entry has one writer. Consecutive agreements use different entries. A
/// member overwrites the entries of agreement n in agreement n + 2. By then, all survivors have
/// ended agreement n, because each of them has voted in agreement n + 1.
struct AgreementArea {
    /// Words of a message before the bits of the dead members: Ballot::word, bound, and proposer.
    static constexpr std::size_t kHeadWords = 3;

    std::uint64_t offset = 0;  ///< offset in every segment; a multiple of kCellStride
    Rank ranks = 0;            ///< ranks of the job; 0: no area

    /// Returns the offset of the cell of a sender's message; the message follows the cell. The
    /// ticks of consecutive agreements differ by 1.
    [[nodiscard]] constexpr std::uint64_t cell(std::uint32_t team, Rank sender, AgreementStep step,
                                               base::Tick tick) const {
        const std::uint64_t senders = team * static_cast<std::uint64_t>(ranks);
        const std::uint64_t agreement =
            (senders + static_cast<std::uint64_t>(sender)) * kAgreements + tick % kAgreements;
        return offset +
               (agreement * kAgreementSteps + static_cast<std::uint64_t>(step)) * entry_bytes();
    }
    [[nodiscard]] constexpr std::uint64_t bytes(std::uint32_t teams) const {
        return teams * static_cast<std::uint64_t>(ranks) * kAgreements * kAgreementSteps *
               entry_bytes();
    }

  private:
    static constexpr std::uint64_t kAgreements = 2;  ///< consecutive agreements with own entries
    [[nodiscard]] constexpr std::uint64_t entry_bytes() const {
        constexpr std::uint64_t kUnit = sizeof(base::Cell);
        const std::uint64_t words = kHeadWords + (static_cast<std::uint64_t>(ranks) + 63) / 64;
        const std::uint64_t message = words * sizeof(std::uint64_t);
        return base::kCellStride + (message + kUnit - 1) / kUnit * kUnit;
    }
};

}  // namespace weft::run
