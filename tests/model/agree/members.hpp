// SPDX-License-Identifier: BSD-3-Clause
// members.hpp - the members of a team in an agreement, their messages in flight, and their deaths.
//
// Holds    Messages are delivered in any order. A member may die between two sends. Messages of a
//          dead member may be delivered late or never. Each survivor notices each death at any
//          later time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <vector>

#include "run/agree/agreement.hpp"

namespace weft::test {

struct Flying {
    Rank from = 0;
    Rank to = 0;
    run::AgreementMessage message;
    friend auto operator<=>(const Flying&, const Flying&) = default;
};

class Members {
  public:
    /// The vote of rank r clears bit r of the word, so a decision shows whose votes it has.
    /// `known_dead`: a rank that has died before, which only the last rank knows; -1: none.
    explicit Members(Rank size, Rank known_dead = -1) : died_(size), known_dead_(known_dead) {
        for (Rank rank = 0; rank < size; ++rank) {
            run::RankSet dead(size);
            if (rank == size - 1 && known_dead >= 0) dead.add(known_dead);
            noticed_.push_back(dead);
            members_.emplace_back(
                rank, size, run::Ballot{~(std::uint64_t{1} << rank), std::uint64_t(rank), dead});
        }
        if (known_dead >= 0) kill(known_dead);
    }

    [[nodiscard]] Rank size() const { return static_cast<Rank>(members_.size()); }
    [[nodiscard]] bool is_alive(Rank rank) const { return !died_.contains(rank); }
    [[nodiscard]] Rank alive() const { return size() - died_.count(); }
    [[nodiscard]] const std::vector<Flying>& flying() const { return flying_; }
    [[nodiscard]] bool has_noticed(Rank rank, Rank dead) const {
        return noticed_[rank].contains(dead);
    }
    /// Returns the number of messages that the rank has sent.
    [[nodiscard]] int sends(Rank rank) const { return sends_[static_cast<std::size_t>(rank)]; }
    /// Counts sends from now on. Situations that differ in these numbers are not equal.
    void count_sends() { sends_.assign(members_.size(), 0); }

    void kill(Rank rank) { died_.add(rank); }
    void notice(Rank rank, Rank dead) {
        noticed_[rank].add(dead);
        members_[rank].note_death(dead);
    }
    /// Delivers a message without sending replies; see send().
    Rank deliver(std::size_t index) {
        const Flying flying = flying_[index];
        drop(index);
        members_[flying.to].receive(flying.from, flying.message);
        return flying.to;
    }
    /// Removes a message, and returns its receiver.
    Rank drop(std::size_t index) {
        const Rank to = flying_[index].to;
        flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(index));
        return to;
    }
    /// Sends up to `limit` messages of a rank. Returns false if the rank has fewer.
    bool send(Rank rank, int limit = 1 << 30) {
        for (int sent = 0; sent < limit; ++sent) {
            const auto next = members_[rank].next_message();
            if (!next) return false;
            if (!sends_.empty()) ++sends_[static_cast<std::size_t>(rank)];
            // Neither a dead rank nor one that has decided acts on a message.
            if (!is_alive(next->to) || members_[next->to].decided()) continue;
            const Flying flying{rank, next->to, next->message};
            flying_.insert(std::ranges::upper_bound(flying_, flying), flying);
        }
        return true;
    }

    /// Returns a text about a broken promise, or an empty text.
    [[nodiscard]] std::string fault() const {
        const run::Agreement* first = nullptr;
        for (Rank rank = 0; rank < size(); ++rank) {
            const run::Agreement& member = members_[rank];
            if (!member.decided()) continue;
            if (first == nullptr) first = &member;
            if (member.decision() != first->decision()) return "two members decide differently";
            if ((first->decision().word >> rank & 1) != 0) return "a vote is missing";
            for (Rank dead = 0; dead < size(); ++dead)
                if (member.decision().dead.contains(dead) && is_alive(dead))
                    return "the decision names a living member as dead";
        }
        if (first == nullptr) return is_at_rest() ? "all survivors wait forever" : "";
        const bool knower_decided = members_.back().decided();
        if (known_dead_ >= 0 && knower_decided && !first->decision().dead.contains(known_dead_))
            return "a known death is missing";
        return is_at_rest() && !all_decided() ? "a survivor waits forever" : "";
    }
    /// Returns true if no survivor can advance without messages of dead members.
    [[nodiscard]] bool is_at_rest() const {
        for (const Flying& flying : flying_)
            if (is_alive(flying.from) && is_alive(flying.to)) return false;
        for (Rank rank = 0; rank < size(); ++rank)
            for (Rank dead = 0; dead < size(); ++dead)
                if (is_alive(rank) && !is_alive(dead) && !has_noticed(rank, dead)) return false;
        return true;
    }
    [[nodiscard]] bool all_decided() const {
        for (Rank rank = 0; rank < size(); ++rank)
            if (is_alive(rank) && !members_[rank].decided()) return false;
        return true;
    }
    /// Removes messages that have no effect, so that equal situations are equal.
    void forget_useless() {
        std::erase_if(flying_, [&](const Flying& flying) {
            return !is_alive(flying.to) || members_[flying.to].decided();
        });
    }

    friend auto operator<=>(const Members&, const Members&) = default;

  private:
    std::vector<run::Agreement> members_;
    std::vector<Flying> flying_;         ///< sorted
    std::vector<run::RankSet> noticed_;  ///< by survivor
    run::RankSet died_;
    Rank known_dead_;
    std::vector<int> sends_;  ///< by rank, after count_sends()
};

}  // namespace weft::test
