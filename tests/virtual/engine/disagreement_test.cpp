// SPDX-License-Identifier: BSD-3-Clause
// Goal: a call about which ranks disagree fails on all ranks within seconds, and each failure names
// both calls. A rank that never calls is reported; the wait ends only if abort_on_timeout is set.
// Method: each of four ranks has a thread, on one, two and four nodes. Some ranks make a different
// call.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <regex>
#include <thread>

#include "tests/support/call.hpp"
#include "tests/virtual/engine/disagreements.hpp"

namespace weft::test {
namespace {

struct Disagreement {
    std::map<Rank, CallPlan> others;  ///< ranks that make a different call
    CallPlan common;
    bool barrier_after = false;  ///< successful ranks continue with a barrier
};

/// A virtual job with one team.
class OneTeamJob {
  public:
    explicit OneTeamJob(const std::vector<int>& nodes, run::WatchdogOptions watchdog)
        : job_(threaded_options(nodes), std::move(watchdog)) {
        team_ = &job_.add_team(
            {.shape = {.cells = 32, .banks = 8, .bulk_banks = 4, .bulk_bytes = 16384}});
    }
    VirtualJob& job() { return job_; }
    const VirtualTeam& team() const { return *team_; }

    /// Makes one blocking call of a rank.
    Ending call(const TeamCall& call, Rank rank) {
        const auto at = static_cast<std::size_t>(rank);
        std::vector<std::byte> input(call.bytes() + 1);
        std::vector<std::byte> output(call.bytes() + 1);
        fill_input(call, {5, 0}, rank, input.data());
        VirtualEngine& engine = job_.engine(rank);
        if (engine.run(*team_->states[at], call.programs[at],
                       {.input = input.data(), .output = output.data()}, call.reducer))
            return {};
        return {engine.failure().status, engine.failure().text};
    }

  private:
    VirtualJob job_;
    const VirtualTeam* team_ = nullptr;
};

std::vector<Ending> run_disagreement(const Disagreement& disagreement,
                                     const std::vector<int>& nodes) {
    OneTeamJob setup(
        nodes, {.inquiry_ns = kInquiryNs, .timeout_ns = kDeadlineNs, .abort_on_timeout = true});
    const TeamCall common = bind_call(setup.job(), setup.team(), disagreement.common);
    std::map<Rank, TeamCall> others;
    for (const auto& [rank, plan] : disagreement.others)
        others.emplace(rank, bind_call(setup.job(), setup.team(), plan));
    const TeamCall barrier = bind_call(setup.job(), setup.team(),
                                       {.collective = "barrier", .algorithm = "dissemination"});
    std::vector<Ending> endings(nodes.size());
    in_threads(setup.job(), [&](Rank rank) {
        Ending& ending = endings[static_cast<std::size_t>(rank)];
        const auto other = others.find(rank);
        ending = setup.call(other == others.end() ? common : other->second, rank);
        if (disagreement.barrier_after && ending.status == Status::ok)
            ending = setup.call(barrier, rank);
    });
    return endings;
}

void expect_named_on_all(const Disagreement& disagreement, Rank dissenter) {
    expect_all_fail(
        [&](const std::vector<int>& nodes) { return run_disagreement(disagreement, nodes); },
        {fmt::format("rank {} called {}", dissenter, disagreement.others.at(dissenter).collective),
         fmt::format("called {} {} of {} elements", disagreement.common.collective,
                     disagreement.common.algorithm, disagreement.common.elements)});
}

CallPlan sum_of(std::uint64_t elements) {
    return {.collective = "allreduce", .algorithm = "a2,a2", .elements = elements};
}
CallPlan broadcast_from(Rank root) {
    return {.collective = "broadcast", .algorithm = "binomial", .elements = 2, .root = root};
}

TEST(Disagreement, ADifferentCountIsNamedOnAllRanks) {
    expect_named_on_all({.others = {{2, sum_of(3)}}, .common = sum_of(1)}, 2);
}

TEST(Disagreement, ADifferentTypeIsNamedOnAllRanks) {
    CallPlan other = sum_of(1);
    other.algebra = Algebra::affine;
    expect_named_on_all({.others = {{3, other}}, .common = sum_of(1)}, 3);
}

TEST(Disagreement, ADifferentCollectiveIsNamedOnAllRanks) {
    expect_named_on_all({.others = {{1, {.collective = "barrier", .algorithm = "dissemination"}}},
                         .common = sum_of(2)},
                        1);
}

// Rank 0 broadcasts as the root, so it returns without waiting. Rank 1 waits for rank 0, its parent
// in the tree of root 2.
TEST(Disagreement, ARootThatDoesNotWaitIsDetectedAtItsNextCall) {
    expect_named_on_all(
        {.others = {{0, broadcast_from(0)}}, .common = broadcast_from(2), .barrier_after = true},
        0);
}

TEST(Disagreement, ACallWithoutDataIsDetectedAtTheNextCall) {
    expect_named_on_all({.others = {{3, sum_of(0)}}, .common = sum_of(2), .barrier_after = true},
                        3);
}

// Between nodes, the bank rule inserts barriers into a series of broadcasts that exceeds the eight
// banks. Reports must still give the number of the user's call, also if rank 3 makes no more calls.
TEST(Disagreement, ReportsGiveTheNumbersOfTheUsersCalls) {
    constexpr int kCalls = 40;
    for (const bool stays_away : {false, true}) {
        OneTeamJob setup({0, 1, 2, 3}, {.inquiry_ns = kInquiryNs,
                                        .timeout_ns = stays_away ? 2'000'000'000 : kDeadlineNs,
                                        .abort_on_timeout = true});
        const TeamCall repeated = bind_call(setup.job(), setup.team(), broadcast_from(0));
        const TeamCall other = bind_call(setup.job(), setup.team(), broadcast_from(1));
        const TeamCall last = bind_call(setup.job(), setup.team(), sum_of(1));
        std::vector<Ending> endings(4);
        in_threads(setup.job(), [&](Rank rank) {
            for (int call = 0; call < kCalls; ++call) (void)setup.call(repeated, rank);
            setup.job().engine(rank).drain();
            if (rank == 3 && stays_away) return;
            Ending& ending = endings[static_cast<std::size_t>(rank)];
            ending = setup.call(rank == 3 ? other : last, rank);
            if (ending.status == Status::ok) ending = setup.call(last, rank);
        });
        EXPECT_GT(setup.team().states[0]->cells->next(), kCalls + 1) << "no barrier was inserted";
        for (const Ending& ending : endings) {
            if (stays_away && ending.status == Status::ok) continue;
            EXPECT_NE(ending.text.find("call 40 of team 0"), std::string::npos) << ending.text;
        }
        EXPECT_NE(endings[0].status, Status::ok);
    }
}

/// Ranks 0 and 1 make the call `common`, rank 2 makes `other`. First rank 0 signals rank 1 and
/// returns. Then rank 2 signals rank 1 through the same cell and returns. Rank 1 enters last.
void expect_overwritten_signal_named(const CallPlan& common, const CallPlan& other) {
    OneTeamJob setup(
        {0, 0, 0}, {.inquiry_ns = kInquiryNs, .timeout_ns = kDeadlineNs, .abort_on_timeout = true});
    const TeamCall ours = bind_call(setup.job(), setup.team(), common);
    const TeamCall theirs = bind_call(setup.job(), setup.team(), other);
    std::atomic<int> returned = 0;  // number of ranks: first rank 0, then rank 2, last rank 1
    std::vector<Ending> endings(3);
    in_threads(setup.job(), [&](Rank rank) {
        while (returned < (rank == 0 ? 0 : rank == 2 ? 1 : 2)) std::this_thread::yield();
        endings[static_cast<std::size_t>(rank)] = setup.call(rank == 2 ? theirs : ours, rank);
        ++returned;
        while (returned < 3) setup.job().engine(rank).poll();
    });
    EXPECT_EQ(endings[0].status, Status::ok) << endings[0].text;
    EXPECT_EQ(endings[2].status, Status::ok) << endings[2].text;
    EXPECT_EQ(endings[1].status, Status::argument) << endings[1].text;
    EXPECT_NE(endings[1].text.find("rank 2 called " + other.collective), std::string::npos)
        << endings[1].text;
}

// Rank 1 agrees with rank 0, for which it waits; rank 2 has overwritten rank 0's signal. In the
// three cases, the new contents look like the awaited signal, a later signal and an old signal.
TEST(Disagreement, ASignalOfAnUnexpectedRankIsNamed) {
    expect_overwritten_signal_named(
        {.collective = "exscan", .algorithm = "linear", .elements = 3},
        {.collective = "scatter", .algorithm = "binomial", .elements = 9, .root = 2});
    expect_overwritten_signal_named(
        {.collective = "gather", .algorithm = "binomial", .elements = 9, .root = 1},
        {.collective = "scatter",
         .algorithm = "binomial",
         .elements = 9,
         .root = 2,
         .segments = 2});
    expect_overwritten_signal_named(
        {.collective = "exscan", .algorithm = "linear", .elements = 9, .segments = 2},
        {.collective = "reduce", .algorithm = "binomial", .elements = 9, .root = 1});
}

/// Collects the reported lines of all ranks.
class Lines {
  public:
    void add(const std::string& line) {
        const std::lock_guard held(mutex_);
        lines_.push_back(line);
    }
    [[nodiscard]] bool has(const std::string& wanted) const {
        const std::lock_guard held(mutex_);
        return std::ranges::find(lines_, wanted) != lines_.end();
    }
    [[nodiscard]] std::string all() const {
        const std::lock_guard held(mutex_);
        std::string text;
        for (const std::string& line : lines_) text += line + "\n";
        return text;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
};

TEST(Watchdog, AnAbsentRankIsNamedAndMayEndTheWait) {
    for (const std::vector<int>& nodes : four_rank_layouts()) {
        OneTeamJob setup(nodes, {.timeout_ns = 300'000'000, .abort_on_timeout = true});
        const TeamCall sum = bind_call(setup.job(), setup.team(), sum_of(1));
        std::vector<Ending> endings(nodes.size());
        in_threads(setup.job(), [&](Rank rank) {
            if (rank != 3) endings[static_cast<std::size_t>(rank)] = setup.call(sum, rank);
        });
        for (std::size_t rank = 0; rank < 3; ++rank)
            EXPECT_EQ(endings[rank].status, Status::timeout) << endings[rank].text;
        EXPECT_NE(endings[2].text.find("waiting for rank 3"), std::string::npos) << endings[2].text;
    }
}

TEST(Watchdog, TheReportHasItsDocumentedForm) {
    Lines lines;
    OneTeamJob setup({0, 1, 2, 3}, {.timeout_ns = 2'000'000'000,
                                    .abort_on_timeout = true,
                                    .report = [&](const std::string& line) { lines.add(line); }});
    const TeamCall sum = bind_call(setup.job(), setup.team(), sum_of(1));
    in_threads(setup.job(), [&](Rank rank) {
        for (int call = 0; call < (rank == 3 ? 2 : 3); ++call) (void)setup.call(sum, rank);
        if (rank == 3) setup.job().engine(rank).drain();
    });
    // The call with epoch 2 has tick 3. Ranks 2 and 3 exchange first: step 0 puts, step 1 waits.
    const bool found =
        lines.has("rank 2: allreduce a2,a2 epoch 2 step 1: waiting for rank 3 (have 0, want 3)");
    EXPECT_TRUE(found) << lines.all();
}

TEST(Watchdog, AReportAloneDoesNotEndTheWait) {
    Lines lines;
    OneTeamJob setup({0, 0, 1, 1}, {.timeout_ns = 100'000'000,
                                    .report = [&](const std::string& line) { lines.add(line); }});
    const TeamCall sum = bind_call(setup.job(), setup.team(), sum_of(1));
    std::vector<Ending> endings(4);
    in_threads(setup.job(), [&](Rank rank) {
        if (rank == 3) {
            const std::uint64_t end = base::monotonic_ns() + 20'000'000'000;
            while (lines.all().find("waiting for rank 3") == std::string::npos &&
                   base::monotonic_ns() < end)
                std::this_thread::yield();
        }
        endings[static_cast<std::size_t>(rank)] = setup.call(sum, rank);
    });
    for (const Ending& ending : endings) EXPECT_EQ(ending.status, Status::ok) << ending.text;
    EXPECT_NE(lines.all().find("waiting for rank 3"), std::string::npos);
}

// Checks only the reports of rank 2: other ranks may begin to wait, and report, sooner.
TEST(Watchdog, RepeatedReportsOfAWaitGiveOnlyItsDuration) {
    Lines lines;
    OneTeamJob setup({0, 0, 1, 1}, {.timeout_ns = 50'000'000,
                                    .report = [&](const std::string& line) { lines.add(line); }});
    const TeamCall sum = bind_call(setup.job(), setup.team(), sum_of(1));
    const std::uint64_t start = base::monotonic_ns();
    in_threads(setup.job(), [&](Rank rank) {
        if (rank == 3) {
            const std::regex third("rank 2: the same after [0-9]+ s \\(report 3 of this wait\\)");
            while (!std::regex_search(lines.all(), third) &&
                   base::monotonic_ns() < start + 20'000'000'000)
                std::this_thread::yield();
        }
        (void)setup.call(sum, rank);
    });
    const std::uint64_t seconds = (base::monotonic_ns() - start) / 1'000'000'000;
    const std::string all = lines.all();
    std::smatch again;
    const std::regex second("rank 2: the same after ([0-9]+) s \\(report 2 of this wait\\)");
    ASSERT_TRUE(std::regex_search(all, again, second)) << all;
    EXPECT_LE(std::stoull(again[1]), seconds) << all;
    const std::size_t first = all.find("rank 2: allreduce");
    ASSERT_NE(first, std::string::npos) << all;
    const std::string line = all.substr(first, all.find('\n', first) - first);
    EXPECT_EQ(all.find(line, first + 1), std::string::npos) << all;
}

TEST(Watchdog, ABrokenWireEndsTheWait) {
    OneTeamJob setup({0, 1}, {});
    const TeamCall sum = bind_call(setup.job(), setup.team(),
                                   {.collective = "allreduce", .algorithm = "a2", .elements = 1});
    setup.job().network().break_wire(0, {Status::peer, "rank 1 died"});
    Ending ending;
    in_threads(setup.job(), [&](Rank rank) {
        if (rank == 0) ending = setup.call(sum, rank);
    });
    EXPECT_EQ(ending.status, Status::peer);
    EXPECT_EQ(ending.text, "rank 1 died");
}

}  // namespace
}  // namespace weft::test
