// SPDX-License-Identifier: BSD-3-Clause
// Goal: v-collectives give right results for every delivery order, also with several calls in
// flight and without elements. If ranks disagree about a count, each failure has both counts.
// Method: random exchanges on the virtual wire, for many seeds, are compared with a serial
// reference. In disagreements, each rank has a thread. algorithms_test.cpp covers counts that all
// ranks know.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "tests/support/draw_calls.hpp"
#include "tests/support/exchange.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/virtual/engine/disagreements.hpp"

namespace weft::test {
namespace {

/// A series of calls, with several in flight on each rank.
class VCollectiveScript {
  public:
    VCollectiveScript(std::uint64_t seed, Rank size, std::size_t calls)
        : random_(seed), size_(size) {
        VirtualProfile profile;
        profile.delivers_at_target = random_.chance(1, 2);
        profile.refuse_half_percent = 15;
        ExchangeMapping mapping{.nodes = draw_layout(random_, size)};
        if (seed % 2 == 0) mapping.count_min = 1 + seed % 50;
        job_.emplace(VirtualOptions{.segment_bytes = 4 << 20,
                                    .node_of_rank = mapping.nodes,
                                    .seed = seed,
                                    .profile = profile});
        const base::RegionShape shape = exchange_shape(size, random_.chance(1, 2) ? 4 : 128);
        team_ = &job_->add_team({.shape = shape, .first_tick = draw_first_tick(random_)});
        made_.resize(static_cast<std::size_t>(size));
        for (std::size_t call = 0; call < calls; ++call) {
            const CountMatrix matrix = draw_counts(random_, size);
            std::deque<ExchangeSide>& sides = calls_.emplace_back();
            for (Rank rank = 0; rank < size; ++rank) {
                ExchangeSide side = exchange_side(call, rank, matrix, matrix, shape, mapping);
                const std::size_t bytes = side.input.size() * sizeof(ExchangeElement);
                side.exposed = job_->allocate(rank, bytes);
                std::memcpy(side.exposed, side.input.data(), bytes);
                mapped_ += side.program.exposes;
                sides.push_back(std::move(side));
            }
        }
    }

    /// Returns the number of messages that receivers read in place.
    [[nodiscard]] std::uint64_t mapped() const { return mapped_; }

    /// Runs all calls. Returns an empty text, or the first error.
    std::string run() {
        constexpr std::uint64_t kIdleMax = 60'000;
        std::uint64_t idle = 0;
        while (!done() || job_->in_flight() > 0) {
            const bool moved = job_->step([this](Rank rank) { return turn(rank); });
            idle = moved ? 0 : idle + 1;
            if (idle > kIdleMax) return "no more progress:\n" + job_->describe();
        }
        for (std::size_t call = 0; call < calls_.size(); ++call) {
            for (Rank rank = 0; rank < size_; ++rank) {
                ExchangeSide& side = calls_[call][static_cast<std::size_t>(rank)];
                if (side.op->state != run::Operation::State::complete) return side.op->failure.text;
                if (std::string wrong = check_exchange(side, call, rank); !wrong.empty())
                    return wrong;
            }
        }
        if (!job_->watch().faults().empty()) return job_->watch().faults().front();
        if (!job_->watch().violations().empty()) return to_text(job_->watch().violations().front());
        return "";
    }

  private:
    /// Starts the rank's next call, or returns false.
    bool turn(Rank rank) {
        std::size_t& made = made_[static_cast<std::size_t>(rank)];
        if (made == calls_.size() || random_.chance(1, 3)) return false;
        const auto at = static_cast<std::size_t>(rank);
        const std::size_t in_flight_max = 1 + at % 5;
        if (made >= in_flight_max && !calls_[made - in_flight_max][at].op->ended()) return false;
        ExchangeSide& side = calls_[made][at];
        side.op =
            &job_->engine(rank).start(*team_->states[at], side.program, registers_of(side), {});
        job_->watch().record_issue(team_->id, rank, *side.op);
        ++made;
        return true;
    }
    [[nodiscard]] bool done() const {
        return std::ranges::all_of(made_,
                                   [&](std::size_t made) { return made == calls_.size(); }) &&
               std::ranges::all_of(calls_, [](const std::deque<ExchangeSide>& sides) {
                   return std::ranges::all_of(
                       sides, [](const ExchangeSide& side) { return side.op->ended(); });
               });
    }

    base::Random random_;
    Rank size_;
    std::optional<VirtualJob> job_;
    const VirtualTeam* team_ = nullptr;
    std::deque<std::deque<ExchangeSide>> calls_;
    std::vector<std::size_t> made_;
    std::uint64_t mapped_ = 0;
};

TEST(VCollective, EachRankReceivesTheDataOfItsPeers) {
    const std::uint64_t seeds = full_mode() ? 2000 : 40;
    std::uint64_t mapped = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto size = static_cast<Rank>(1 + seed % 8);
        VCollectiveScript script(seed, size, 10);
        EXPECT_EQ(script.run(), "") << "seed " << seed;
        mapped += script.mapped();
    }
    EXPECT_GT(mapped, 100U);
}

// --- disagreements -------------------------------------------------------------------------------

/// Runs a call in which the sent counts differ from the expected counts. Ranks on which the call
/// succeeds continue with a barrier. Returns each rank's ending.
std::vector<Ending> run_disagreement(const std::vector<int>& nodes, const CountMatrix& sends,
                                     const CountMatrix& expects) {
    VirtualJob job(threaded_options(nodes),
                   {.inquiry_ns = kInquiryNs, .timeout_ns = kDeadlineNs, .abort_on_timeout = true});
    const auto size = static_cast<Rank>(nodes.size());
    const base::RegionShape shape = exchange_shape(size, 8);
    const VirtualTeam& team = job.add_team({.shape = shape});
    const TeamCall barrier =
        bind_call(job, team, {.collective = "barrier", .algorithm = "dissemination"});
    std::deque<ExchangeSide> sides;
    for (Rank rank = 0; rank < size; ++rank)
        sides.push_back(
            exchange_side(0, rank, sends, expects, shape, {.nodes = nodes, .count_min = 1000}));
    std::vector<Ending> endings(nodes.size());
    in_threads(job, [&](Rank rank) {
        const auto at = static_cast<std::size_t>(rank);
        VirtualEngine& engine = job.engine(rank);
        const bool succeeded =
            engine.run(*team.states[at], sides[at].program, registers_of(sides[at]), {}) &&
            engine.run(*team.states[at], barrier.programs[at], {}, {});
        if (!succeeded) endings[at] = {engine.failure().status, engine.failure().text};
    });
    return endings;
}

void expect_named(Rank from, Rank to, std::uint64_t sent, std::uint64_t expected) {
    CountMatrix sends{4, std::vector<std::uint64_t>(16, 3)};
    CountMatrix expects = sends;
    sends.at(from, to) = sent;
    expects.at(from, to) = expected;
    expect_all_fail(
        [&](const std::vector<int>& nodes) { return run_disagreement(nodes, sends, expects); },
        {fmt::format("rank {} sends {} elements to rank {}, which expects {}", from, sent, to,
                     expected)});
}

TEST(VCollectiveDisagreement, ADifferentCountIsNamedOnAllRanks) {
    expect_named(1, 2, 3, 4);
    expect_named(3, 0, 5, 2);
}

TEST(VCollectiveDisagreement, AMissingMessageIsNamed) {
    expect_named(1, 2, 0, 4);
}

TEST(VCollectiveDisagreement, UnexpectedPiecesAreNamedAndHarmless) {
    expect_named(2, 1, 5000, 3);
    expect_named(0, 3, 700, 5000);
}

}  // namespace
}  // namespace weft::test
