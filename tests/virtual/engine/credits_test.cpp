// SPDX-License-Identifier: BSD-3-Clause
// Goal: on one node a long stream of one-way calls needs no barrier, for any order of roots, and
// gives right results. A rank that waits for a credit reports the wait. If ranks disagree about a
// call of the stream, some call fails.
// Method: ranks that pause at random make one stream for each pattern of roots. The bank watch
// reports every early write.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>

#include "tests/support/full_mode.hpp"
#include "tests/support/script.hpp"

namespace weft::test {
namespace {

constexpr Rank kRanks = 4;
constexpr base::RegionShape kShape{
    .cells = 32,
    .banks = 16,
    .bulk_banks = 4,
    .bulk_bytes = 4096,
    .small = {{{.banks = 16, .bytes = 192}, {.banks = 8, .bytes = 512}}}};

/// Returns the number of calls in a stream. Every rank makes all of them.
std::size_t stream_length() {
    return (kSlow ? 2'000 : 100'000) / (full_mode() ? 1 : 4);
}

/// Returns one call for each root in each of three sizes, which fit into cells, small banks and
/// large banks.
std::deque<TeamCall> calls_of(VirtualJob& job, const VirtualTeam& team,
                              const std::string& collective, const std::string& algorithm) {
    std::deque<TeamCall> calls;
    for (const std::uint64_t elements : {4U, 16U, 80U})
        for (Rank root = 0; root < kRanks; ++root)
            calls.push_back(bind_call(job, team,
                                      {.collective = collective,
                                       .algorithm = algorithm,
                                       .elements = elements,
                                       .root = collective == "scan" ? plan::kNoRank : root}));
    return calls;
}

struct Pattern {
    const char* name;
    const char* collective;
    const char* algorithm;
    std::function<Rank(std::size_t, base::Random&)> root;
};

Rank one_root(std::size_t, base::Random&) {
    return 1;
}
Rank roots_in_turn(std::size_t number, base::Random&) {
    return static_cast<Rank>(number % kRanks);
}
Rank roots_in_blocks(std::size_t number, base::Random&) {
    return static_cast<Rank>(number / 100 % kRanks);
}
Rank any_root(std::size_t, base::Random& random) {
    return static_cast<Rank>(random.below(kRanks));
}

void run_stream(const Pattern& pattern, std::uint64_t seed) {
    SCOPED_TRACE(pattern.name);
    VirtualJob job(
        {.segment_bytes = 1 << 20, .node_of_rank = std::vector<int>(kRanks, 0), .seed = seed});
    const VirtualTeam& team = job.add_team({.shape = kShape});
    const std::deque<TeamCall> palette = calls_of(job, team, pattern.collective, pattern.algorithm);
    base::Random random = base::Random(seed).stream(9);
    std::vector<const TeamCall*> calls;
    for (std::size_t number = 0; number < stream_length(); ++number) {
        const std::size_t size = number / 1000 % 3;  // cells, small or large banks
        const Rank root = pattern.root(number, random);
        calls.push_back(&palette[size * kRanks + static_cast<std::size_t>(root)]);
    }
    const ScriptOutcome outcome =
        Script(job, calls, {.seed = seed, .lookahead = 1, .block_percent = 5}).run();
    EXPECT_TRUE(outcome.errors.empty()) << outcome.errors.front();
    for (const run::TeamState* state : team.states)
        EXPECT_EQ(state->cells->next(), static_cast<run::Epoch>(stream_length()))
            << "the team inserted barriers";
}

TEST(Credits, StreamsWithEveryRootPatternAreRight) {
    const Pattern patterns[] = {
        {"broadcast, one root", "broadcast", "binomial", one_root},
        {"broadcast, alternating roots", "broadcast", "flat", roots_in_turn},
        {"broadcast, any root", "broadcast", "flat", any_root},
        {"reduce, one root", "reduce", "flat", one_root},
        {"scatter, roots in blocks", "scatter", "flat", roots_in_blocks},
        {"gather, any root", "gather", "flat", any_root},
        {"scan", "scan", "linear", one_root},
    };
    std::uint64_t seed = 1;
    for (const Pattern& pattern : patterns) run_stream(pattern, seed++);
}

/// Two ranks of one node whose calls are made and polled step by step.
struct TwoRanks {
    VirtualJob job{{.segment_bytes = 1 << 20, .node_of_rank = {0, 0}},
                   {.inquiry_ns = 1'000'000, .timeout_ns = 0}};
    const VirtualTeam& team = job.add_team({.shape = kShape});
    std::vector<std::byte> memory = std::vector<std::byte>(1024);

    run::Operation& issue(Rank rank, const TeamCall& call) {
        return job.engine(rank).start(*team.states[static_cast<std::size_t>(rank)],
                                      call.programs[static_cast<std::size_t>(rank)],
                                      {.input = memory.data(), .output = memory.data()},
                                      call.reducer);
    }
    TeamCall broadcast_from(Rank root) {
        return bind_call(
            job, team,
            {.collective = "broadcast", .algorithm = "flat", .elements = 2, .root = root});
    }
};

TEST(Credits, ARootRunsOneWindowAheadAndReportsItsWait) {
    TwoRanks ranks;
    const TeamCall call = ranks.broadcast_from(0);
    for (std::uint32_t number = 0; number < kShape.banks; ++number) {
        run::Operation& op = ranks.issue(0, call);
        (void)ranks.job.engine(0).poll();
        EXPECT_TRUE(op.ended()) << "call " << number;
        ranks.job.engine(0).release(op);
    }
    run::Operation& waiting = ranks.issue(0, call);  // needs a bank of the first call
    (void)ranks.job.engine(0).poll();
    EXPECT_FALSE(waiting.ended());
    EXPECT_NE(
        ranks.job.describe().find("waiting for rank 1 to complete earlier calls (has completed 0)"),
        std::string::npos)
        << ranks.job.describe();
    // Credit is returned for a quarter of a window at a time.
    const auto batch = static_cast<std::uint32_t>(ranks.team.states[0]->cells->batch());
    for (std::uint32_t number = 0; number < batch; ++number) {
        EXPECT_FALSE(waiting.ended());
        run::Operation& op = ranks.issue(1, call);
        while (!op.ended()) (void)ranks.job.engine(1).poll();
        ranks.job.engine(1).release(op);
        (void)ranks.job.engine(0).poll();
    }
    EXPECT_TRUE(waiting.ended());
    ranks.job.engine(0).release(waiting);
}

TEST(Credits, ADisagreementInAStreamIsReported) {
    TwoRanks ranks;
    const TeamCall mine = ranks.broadcast_from(0);
    const TeamCall theirs = ranks.broadcast_from(1);
    std::vector<run::Operation*> ops;
    for (std::uint32_t number = 0; number < 2 * kShape.banks; ++number) {
        ops.push_back(&ranks.issue(0, mine));
        ops.push_back(&ranks.issue(1, theirs));
    }
    const auto failed = [](const run::Operation* op) {
        return op->state == run::Operation::State::failed;
    };
    for (int polls = 0; polls < 100'000'000 && std::ranges::none_of(ops, failed); ++polls) {
        (void)ranks.job.engine(0).poll();
        (void)ranks.job.engine(1).poll();
    }
    const auto first = std::ranges::find_if(ops, failed);
    ASSERT_NE(first, ops.end());
    EXPECT_NE((*first)->failure.text.find("ranks disagree about"), std::string::npos)
        << (*first)->failure.text;
    EXPECT_EQ(ranks.job.watch().violations().size(), 0U);
}

}  // namespace
}  // namespace weft::test
