// SPDX-License-Identifier: BSD-3-Clause
// Goal: algorithms on circulant graphs are right for every number of ranks, with the rounds,
// messages and bytes of their papers.
// Method: the verifier's counts are compared with formulas of the number of ranks and of blocks.
#include "tests/model/collectives/figures.hpp"
#include "tests/support/full_mode.hpp"

namespace weft::collectives {
namespace {

TEST(Circulant, ReduceScatterHasTheLeastRoundsAndBytes) {
    expect_all("reduce_scatter", "circulant", one_per_rank, [](Count n, Count) {
        return Figures{log2_ceil(n), n * log2_ceil(n), n * (n - 1), n - 1, n - 1};
    });
}

/// Proves a broadcast and a reduce of `blocks` blocks of one element. Each rank has at most one
/// message in a round, in each direction.
void expect_optimal(Rank size, Rank root, Count blocks) {
    const auto n = static_cast<Count>(size);
    for (const char* collective : {"broadcast", "reduce"}) {
        const auto programs =
            generate_all(collective, *parse_spec(fmt::format("circulant:blocks={}", blocks)),
                         {.size = size, .root = root, .elements = blocks});
        const auto verdict = prove(collective, programs, blocks);
        const std::string call =
            fmt::format("{} of {} blocks on {} ranks from {}", collective, blocks, size, root);
        expect_figures(verdict,
                       {.rounds = kOpen,
                        .messages = blocks * (n - 1),
                        .total = blocks * (n - 1),
                        .sent_max = collective[0] == 'r' ? blocks * one_if(n > 1) : kOpen,
                        .reduced_max = collective[0] == 'r' ? kOpen : 0},
                       call);
        const Count rounds = size == 1 ? 0 : blocks - 1 + log2_ceil(n);
        EXPECT_EQ(put_rounds(programs), rounds) << call;
        EXPECT_LE(verdict.rounds, rounds) << call;
    }
}

TEST(Circulant, BroadcastsAndReductionsHaveTheLeastRounds) {
    for (Rank size = 1; size <= (test::full_mode() ? 300 : 70); ++size)
        for (const Count blocks : {1U, 4U, 7U}) expect_optimal(size, size / 3, blocks);
    for (Rank size = 1; size <= 17; ++size)
        for (Rank root = 0; root < size; ++root)
            for (Count blocks = 1; blocks <= 9; ++blocks) expect_optimal(size, root, blocks);
    for (const Rank size : {97, 128, 255}) expect_optimal(size, size - 1, 3);
}

TEST(Circulant, SegmentsFollowEachOtherWithConstantDescriptors) {
    for (const Rank size : {2, 5, 8, 13})
        for (const char* collective : {"broadcast", "reduce"}) {
            const auto verdict = [&](Count segments) {
                return prove(collective, fmt::format("circulant:segments={}", segments),
                             {.size = size, .root = 1, .elements = 1000});
            };
            const auto one = verdict(1);
            for (const Count segments : {2U, 3U, 7U, 40U}) {
                const auto some = verdict(segments);
                EXPECT_TRUE(some.valid) << collective << ' ' << size << ": " << some.error;
                EXPECT_EQ(some.messages, segments * one.messages);
            }
            EXPECT_EQ(verdict(7).descriptors_max, verdict(40).descriptors_max);
        }
}

TEST(Circulant, MoreBlocksThanPutTargetsAreRefused) {
    const auto program = generate("broadcast", *parse_spec("circulant:blocks=13"),
                                  {.size = 4, .root = 0, .elements = 20});
    ASSERT_FALSE(program.ok());
    EXPECT_EQ(program.failure().text, "character 18: blocks=13 is not in 1..12");
}

}  // namespace
}  // namespace weft::collectives
