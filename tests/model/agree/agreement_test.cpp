// SPDX-License-Identifier: BSD-3-Clause
// Goal: all members that decide have the same ballot, whichever members die at any step, and every
// survivor decides.
// Method: for 2 and 3 members (4 in the full mode), visit every situation that deliveries, deaths
// and notices in any order can reach. For 4 and 5 members, let two members die at every pair of
// steps, in several orders of delivery. For up to 12 members, draw deaths and orders from a seed;
// WEFT_TESTS_SEED repeats one seed.
#include "run/agree/agreement.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/random.hpp"
#include "tests/model/agree/members.hpp"
#include "tests/support/full_mode.hpp"

namespace weft::test {
namespace {

/// Visits all situations that can follow from a start.
class Explorer {
  public:
    /// Visits every start in which each member from `next` on has sent its first messages or died.
    void begin(const Members& start, Rank next = 0) {
        if (next == start.size()) return visit(start);
        Members sent = start;
        if (sent.is_alive(next)) sent.send(next);
        begin(sent, next + 1);
        if (!start.is_alive(next) || start.alive() == 1) return;
        Members died = start;
        died.kill(next);
        begin(died, next + 1);
    }
    [[nodiscard]] std::size_t situations() const { return visited_.size(); }

    void drain() {
        while (!pending_.empty() && !failed_) {
            const Members now = pending_.back();
            pending_.pop_back();
            expand(now);
        }
    }

  private:
    void expand(const Members& now) {
        for (std::size_t i = 0; i < now.flying().size(); ++i) {
            if (i != 0 && now.flying()[i] == now.flying()[i - 1]) continue;
            Members next = now;
            const Rank receiver = next.deliver(i);
            visit_after(std::move(next), receiver);
        }
        for (Rank rank = 0; rank < now.size(); ++rank) {
            if (!now.is_alive(rank)) continue;
            for (Rank dead = 0; dead < now.size(); ++dead) {
                if (now.is_alive(dead) || now.has_noticed(rank, dead)) continue;
                Members next = now;
                next.notice(rank, dead);
                visit_after(std::move(next), rank);
            }
            if (now.alive() > 1) kill_and_visit(now, rank);
        }
    }
    /// Visits the situations after a step of `actor`: it sends all its messages, or dies before one
    /// of them.
    void visit_after(Members next, Rank actor) {
        do {
            if (next.alive() > 1) kill_and_visit(next, actor);
        } while (next.send(actor, 1));
        visit(std::move(next));
    }
    void kill_and_visit(Members next, Rank rank) {
        next.kill(rank);
        visit(std::move(next));
    }
    void visit(Members next) {
        next.forget_useless();
        if (!visited_.insert(next).second) return;
        failed_ = failed_ || !next.fault().empty();
        EXPECT_EQ(next.fault(), "");
        pending_.push_back(std::move(next));
    }

    std::set<Members> visited_;
    std::vector<Members> pending_;
    bool failed_ = false;
};

/// Returns the number of visited situations. `known_dead`: see Members; -1: none.
std::size_t explore(Rank size, Rank known_dead) {
    Explorer explorer;
    explorer.begin(Members(size, known_dead));
    explorer.drain();
    return explorer.situations();
}

TEST(Agreement, TwoMembersDecideEquallyInEveryOrder) {
    EXPECT_EQ(explore(2, -1), 35U);
    EXPECT_EQ(explore(2, 0), 1U);
}

TEST(Agreement, ThreeMembersDecideEquallyInEveryOrder) {
    EXPECT_EQ(explore(3, -1), 3'046U);
    EXPECT_EQ(explore(3, 0), 74U);
    EXPECT_EQ(explore(3, 1), 76U);
}

TEST(Agreement, FourMembersDecideEquallyInEveryOrder) {
    if (!full_mode()) GTEST_SKIP() << "takes 10 s: set WEFT_TESTS_FULL=1";
    EXPECT_EQ(explore(4, -1), 663'129U);
}

/// A member that dies before it sends its message number `sends`, from 0.
struct Death {
    Rank rank = 0;
    int sends = 0;
};

/// An agreement with these deaths, in an order of deliveries and notices from `random`.
class Trial {
  public:
    Trial(Rank size, std::vector<Death> deaths, base::Random random)
        : members_(size), deaths_(std::move(deaths)), random_(random) {
        members_.count_sends();
    }

    void run() {
        for (Rank rank = 0; rank < members_.size(); ++rank) send_until_death(rank);
        while (const auto actor = step()) {
            send_until_death(*actor);
            members_.forget_useless();
            ASSERT_EQ(members_.fault(), "");
        }
        ASSERT_TRUE(members_.all_decided());
    }

  private:
    /// Delivers or loses a message, or lets a survivor notice a death. Returns the rank that may
    /// have messages to send now; nullopt if no step is left.
    std::optional<Rank> step() {
        std::vector<std::pair<Rank, Rank>> notices;
        for (Rank rank = 0; rank < members_.size(); ++rank)
            for (Rank dead = 0; dead < members_.size(); ++dead)
                if (members_.is_alive(rank) && !members_.is_alive(dead) &&
                    !members_.has_noticed(rank, dead))
                    notices.emplace_back(rank, dead);
        const std::size_t flying = members_.flying().size();
        if (flying + notices.size() == 0) return std::nullopt;
        const std::size_t choice = random_.below(flying + notices.size());
        if (choice < flying) {
            const bool may_be_lost = !members_.is_alive(members_.flying()[choice].from);
            return may_be_lost && random_.chance(1, 2) ? members_.drop(choice)
                                                       : members_.deliver(choice);
        }
        const auto [rank, dead] = notices[choice - flying];
        members_.notice(rank, dead);
        return rank;
    }
    void send_until_death(Rank rank) {
        do {
            for (const Death& death : deaths_)
                if (death.rank == rank && members_.sends(rank) >= death.sends &&
                    members_.alive() > 1)
                    members_.kill(rank);
        } while (members_.is_alive(rank) && members_.send(rank, 1));
    }

    Members members_;
    std::vector<Death> deaths_;
    base::Random random_;
};

TEST(Agreement, SurvivorsDecideEquallyAfterTwoDeathsAtAnySteps) {
    for (const Rank size : {4, 5}) {
        const int sends_max = 3 * size;
        for (Rank first = 0; first < size; ++first) {
            for (Rank second = first; second < size; ++second) {  // equal ranks: one death
                for (int at = 0; at < sends_max; ++at) {
                    for (int then = 0; then < sends_max; ++then) {
                        if (first == second && then != at) continue;
                        for (std::uint64_t seed = 0; seed < 4; ++seed) {
                            Trial(size, {{first, at}, {second, then}}, base::Random(seed)).run();
                            if (HasFailure())
                                FAIL()
                                    << fmt::format("{} members, {} dies at {}, {} at {}, seed {}",
                                                   size, first, at, second, then, seed);
                        }
                    }
                }
            }
        }
    }
}

TEST(Agreement, SurvivorsDecideEquallyAfterRandomDeaths) {
    constexpr std::uint64_t kSeeds = kSlow ? 2'000 : 20'000;
    const auto only = seed_to_repeat();
    for (std::uint64_t seed = only.value_or(0); seed < only.value_or(kSeeds - 1) + 1; ++seed) {
        base::Random random(seed);
        const Rank size = 2 + static_cast<Rank>(random.below(11));
        std::vector<Death> deaths;
        for (Rank rank = 0; rank < size; ++rank)
            if (random.chance(1, 2))
                deaths.push_back({rank, static_cast<int>(random.below(3 * std::uint64_t(size)))});
        Trial(size, deaths, random.stream(1)).run();
        if (HasFailure()) FAIL() << "seed " << seed;
    }
}

TEST(Agreement, DecidesTheVotesOfAll) {
    run::RankSet none(2);
    run::Agreement first(0, 2, {0b110, 7, none});
    run::Agreement second(1, 2, {0b011, 9, none});
    EXPECT_EQ(second.awaited(), 0);
    EXPECT_EQ(first.awaited(), 1);
    run::Agreement* const members[] = {&first, &second};
    for (bool moved = true; moved;) {
        moved = false;
        for (Rank rank = 0; rank < 2; ++rank) {
            while (const auto next = members[rank]->next_message()) {
                members[next->to]->receive(rank, next->message);
                moved = true;
            }
        }
    }
    ASSERT_TRUE(first.decided() && second.decided());
    EXPECT_EQ(first.decision(), second.decision());
    EXPECT_EQ(first.decision().word, 0b010U);
    EXPECT_EQ(first.decision().bound, 9U);
    EXPECT_EQ(first.decision().dead.count(), 0);
}

}  // namespace
}  // namespace weft::test
