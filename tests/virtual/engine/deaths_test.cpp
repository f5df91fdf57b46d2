// SPDX-License-Identifier: BSD-3-Clause
// Goal: whatever steps ranks die at, the survivors on all nodes end their call, agree three times
// on equal ballots, and complete a barrier of the survivors' team.
// Method: run engines and agreements of ranks on 1 to 3 nodes over ordered fabrics. Kill each of 2
// to 5 ranks before each of its steps, or several of up to 8 ranks before random steps. Survivors
// learn of a death at random later times. Some messages of dead ranks are lost. WEFT_TESTS_SEED
// selects another seed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "run/team/agreement_exchange.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/support/virtual_job.hpp"

namespace weft::test {
namespace {

using Exchange = run::AgreementExchange<VirtualEngine, VirtualWire>;

constexpr int kAgreements = 3;
constexpr int kStepsMax = 400'000;  ///< limit of a trial, about 50 times the usual number
constexpr base::RegionShape kShape{.cells = 64, .banks = 128};

struct Shape {
    Rank ranks = 0;
    int nodes = 0;
};

/// Fabric below the real wire of a trial. It keeps the order of writes, as agreements need.
enum class Network : std::uint8_t { ordered, signals };

/// A rank dies before one of its steps.
struct Death {
    Rank rank = 0;
    int step = 0;
};

class Trial {
  public:
    Trial(const Shape& shape, Network network, const std::vector<Death>& deaths, std::uint64_t seed)
        : job_(make_job(shape, network, seed)),
          random_(base::Random(seed).stream(7)),
          members_(static_cast<std::size_t>(shape.ranks)) {
        for (const Death& death : deaths) member(death.rank).dies_at = death.step;
        job_->add_team({.shape = kShape});
        area_.ranks = shape.ranks;
        for (Rank rank = 0; rank < shape.ranks; ++rank)
            area_.offset = static_cast<std::uint64_t>(job_->allocate(rank, area_.bytes(1)) -
                                                      job_->network().segment(rank));
    }

    void run() {
        start_barriers(job_->team(0));
        run_until([&](Rank rank) { return member(rank).agreed.size() == kAgreements; });
        if (testing::Test::HasFailure()) return;
        check_decisions();
        const run::Ballot& last = member(survivor()).agreed.back();
        std::vector<Rank> alive;
        for (Rank rank = 0; rank < job_->size(); ++rank)
            if (!last.dead.contains(rank)) alive.push_back(rank);
        if (alive.size() != living()) return;  // a rank died after the decision
        job_->add_team({.members = alive, .shape = kShape, .first_tick = 1000});
        for (Member& each : members_) each.dies_at = kNever;  // no rank dies from now on
        start_barriers(job_->team(1));
        run_until([&](Rank rank) { return member(rank).call->ended(); });
        for (const Rank rank : alive)
            EXPECT_EQ(member(rank).call->state, run::Operation::State::complete);
    }
    /// Returns the number of ranks that have not died.
    [[nodiscard]] std::size_t living() const {
        return static_cast<std::size_t>(std::ranges::count(members_, true, &Member::is_alive));
    }

  private:
    static constexpr int kNever = -1;

    struct Member {
        run::Operation* call = nullptr;
        std::optional<Exchange> exchange;
        std::vector<run::Ballot> agreed;
        int steps = 0;
        int dies_at = kNever;  ///< step
        bool is_alive = true;
        std::vector<Rank> unknown;  ///< dead ranks whose death this rank does not know
    };

    static std::unique_ptr<VirtualJob> make_job(const Shape& shape, Network network,
                                                std::uint64_t seed) {
        VirtualOptions options{.segment_bytes = 8 << 20, .seed = seed};
        for (Rank rank = 0; rank < shape.ranks; ++rank)
            options.node_of_rank.push_back(rank * shape.nodes / shape.ranks);
        const run::WatchdogOptions watchdog{.next_death = [] { return std::optional<Rank>(); }};
        const bool ordered = network == Network::ordered;
        return std::make_unique<VirtualJob>(
            options, ordered ? ordered_setting() : signals_setting(), watchdog);
    }

    Member& member(Rank rank) { return members_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] bool is_alive(Rank rank) { return member(rank).is_alive; }
    [[nodiscard]] Rank survivor() const {
        return static_cast<Rank>(std::ranges::find(members_, true, &Member::is_alive) -
                                 members_.begin());
    }

    void start_barriers(const VirtualTeam& team) {
        for (Rank rank = 0; rank < team.size(); ++rank) {
            const auto index = static_cast<std::size_t>(rank);
            member(team.members[index]).call =
                &job_->engine(team.members[index])
                     .start(*team.states[index], team.barriers[index], {}, {});
        }
    }

    /// Lets random ranks make steps until all living ranks have `ended`.
    template <class Ended>
    void run_until(Ended ended) {
        for (int step = 0; step < kStepsMax; ++step) {
            const auto rank = static_cast<Rank>(random_.below(members_.size()));
            if (!is_alive(rank)) continue;
            Member& own = member(rank);
            if (own.steps == own.dies_at) {
                own.is_alive = false;
                for (Member& other : members_) other.unknown.push_back(rank);
                job_->kill(rank);
                continue;
            }
            ++own.steps;
            make_step(rank, own);
            bool all = true;
            for (Rank each = 0; each < job_->size(); ++each)
                all = all && (!is_alive(each) || ended(each));
            if (all) return;
        }
        FAIL() << "the survivors wait forever\n" << job_->describe();
    }

    void make_step(Rank rank, Member& own) {
        VirtualEngine& engine = job_->engine(rank);
        if (!own.unknown.empty() && random_.chance(1, 20)) {
            const auto next = own.unknown.begin() +
                              static_cast<std::ptrdiff_t>(random_.below(own.unknown.size()));
            engine.note_death(*next);
            own.unknown.erase(next);
        }
        engine.poll();
        if (!own.call->ended() || own.agreed.size() == kAgreements) return;
        if (!own.exchange) {
            const auto number = own.agreed.size();
            own.exchange.emplace(
                engine, job_->wire(rank), area_,
                run::AgreementSetup{
                    .rank = rank, .job_ranks = job_->team(0).members, .tick = 100 + number},
                // Each survivor clears a bit, so the decision shows whose votes it includes.
                run::Ballot{.word = ~(std::uint64_t{1} << rank) << number,
                            .bound = static_cast<std::uint64_t>(rank),
                            .dead = run::dead_among(job_->team(0).members, engine.deaths())});
        }
        if (!own.exchange->advance()) return;
        own.agreed.push_back(own.exchange->decision());
        std::erase_if(own.unknown,
                      [&](Rank dead) { return own.agreed.back().dead.contains(dead); });
        own.exchange.reset();
    }

    void check_decisions() {
        const std::vector<run::Ballot>& first = member(survivor()).agreed;
        for (Rank rank = 0; rank < job_->size(); ++rank) {
            if (!is_alive(rank)) continue;
            EXPECT_EQ(member(rank).agreed, first) << "rank " << rank;
            for (int number = 0; number < kAgreements; ++number) {
                const run::Ballot& agreed = first[static_cast<std::size_t>(number)];
                EXPECT_EQ(agreed.word & (std::uint64_t{1} << rank << number), 0U);
                EXPECT_FALSE(agreed.dead.contains(rank));
            }
        }
    }

    std::unique_ptr<VirtualJob> job_;
    base::Random random_;
    run::AgreementArea area_;
    std::vector<Member> members_;
};

/// Kills each rank before each of its steps; in the short form, of more than 2 ranks only before
/// some of them.
void kill_at_every_step(const Shape& shape, Network network, std::uint64_t seed) {
    const int stride = full_mode() || shape.ranks == 2 ? 1 : shape.ranks == 3 ? 5 : 17;
    for (Rank victim = 0; victim < shape.ranks; ++victim) {
        bool died = true;
        for (int at = victim % stride; died; at += stride) {
            Trial trial(shape, network, {{victim, at}}, seed);
            trial.run();
            died = trial.living() < static_cast<std::size_t>(shape.ranks);
            if (testing::Test::HasFailure())
                FAIL() << fmt::format("{} ranks, {} nodes, network {}, rank {} dies at {}, seed {}",
                                      shape.ranks, shape.nodes, static_cast<int>(network), victim,
                                      at, seed);
        }
    }
}

TEST(Deaths, SurvivorsAgreeAfterADeathAtEveryStep) {
    constexpr Shape kShapes[] = {{2, 1}, {2, 2}, {3, 1}, {3, 2}, {3, 3}, {4, 2}, {4, 3}, {5, 3}};
    const std::uint64_t seed = seed_to_repeat().value_or(1);
    for (const Shape& shape : kShapes) {
        for (const Network network : {Network::ordered, Network::signals}) {
            if (shape.ranks > 3 && network == Network::signals && !full_mode()) continue;
            kill_at_every_step(shape, network, seed);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(Deaths, SurvivorsAgreeAfterSeveralDeathsAtRandomSteps) {
    constexpr int kStepsOfTrial = 400;  // of a rank until the last decision, approximately
    const std::uint64_t seeds = kSlow ? 30 : full_mode() ? 20'000 : 300;
    const auto only = seed_to_repeat();
    int deaths_seen = 0;
    for (std::uint64_t seed = only.value_or(0); seed < only.value_or(seeds - 1) + 1; ++seed) {
        base::Random random(seed);
        Shape shape{.ranks = 2 + static_cast<Rank>(random.below(7))};
        shape.nodes = 1 + static_cast<int>(random.below(std::min(3, shape.ranks)));
        const Network network = random.chance(1, 2) ? Network::ordered : Network::signals;
        const auto survivor = static_cast<Rank>(random.below(shape.ranks));
        std::vector<Death> deaths;
        for (Rank rank = 0; rank < shape.ranks; ++rank)
            if (rank != survivor && random.chance(1, 2))
                deaths.push_back({rank, static_cast<int>(random.below(kStepsOfTrial))});
        Trial trial(shape, network, deaths, seed);
        trial.run();
        deaths_seen += shape.ranks - static_cast<int>(trial.living());
        if (HasFailure())
            FAIL() << fmt::format("{} ranks, {} nodes, network {}, {} deaths, seed {}", shape.ranks,
                                  shape.nodes, static_cast<int>(network), deaths.size(), seed);
    }
    EXPECT_TRUE(only || 2 * deaths_seen > static_cast<int>(seeds)) << deaths_seen << " deaths";
}

}  // namespace
}  // namespace weft::test
