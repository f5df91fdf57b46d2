// SPDX-License-Identifier: BSD-3-Clause
// Goal: Swing and Bine trees are right for every power of two, with the rounds, messages and bytes
// of a butterfly and a binomial tree, and with fewer hops on a ring.
// Method: the verifier's counts are compared with formulas; hops are counted from the programs.
#include "plan/schedule/step.hpp"
#include "tests/model/collectives/figures.hpp"

namespace weft::collectives {
namespace {

TEST(Bine, SwingHasTheRoundsAndBytesOfAButterfly) {
    for (const char* collective : {"allgather", "reduce_scatter", "allreduce"}) {
        const Count phases = collective == std::string_view("allreduce") ? 2 : 1;
        const bool reduces = find_collective(collective)->reduces();
        expect_all(collective, "swing", one_per_rank, [&](Count n, Count) {
            return Figures{phases * log2_ceil(n), phases * n * log2_ceil(n), phases * n * (n - 1),
                           phases * (n - 1), reduces ? n - 1 : 0};
        });
        for (const Rank size : {128, 256}) {
            const auto elements = contract(collective).vector_elements(size, 3);
            const auto verdict = prove(collective, "swing", {.size = size, .elements = elements});
            EXPECT_TRUE(verdict.valid && verdict.bit_identical) << collective << verdict.error;
        }
    }
}

TEST(Bine, TreesHaveTheRoundsAndBytesOfBinomialTrees) {
    for (const char* collective : {"broadcast", "reduce"}) {
        const bool reduces = collective[0] == 'r';
        expect_all(collective, "bine", one_per_rank, [&](Count n, Count) {
            return Figures{log2_ceil(n), n - 1, n * (n - 1),
                           reduces ? n * one_if(n > 1) : n * log2_ceil(n),
                           reduces ? n * log2_ceil(n) : 0};
        });
        for (const Rank size : {128, 256, 512, 1024}) {
            const auto verdict =
                prove(collective, "bine", {.size = size, .root = 3, .elements = 1});
            EXPECT_TRUE(verdict.valid) << size << ": " << verdict.error;
        }
    }
}

/// Returns the sum of units times hops of all messages on a ring of ranks.
Count unit_hops(std::string_view collective, const std::string& spec, Rank size) {
    Count sum = 0;
    for (const plan::Program& program :
         generate_all(collective, *parse_spec(spec),
                      {.size = size,
                      .root = is_rooted(collective) ? 0 : plan::kNoRank,
                      .elements = contract(collective).vector_elements(size, 1)}))
        for (const plan::Step& step : program.steps) {
            if (step.kind != plan::StepKind::put) continue;
            const auto ahead = static_cast<Count>((step.peer - program.rank + size) % size);
            const std::span blocks =
                std::span(program.blocks).subspan(step.source.start, step.source.count);
            sum += plan::units_of(blocks) * std::min(ahead, static_cast<Count>(size) - ahead);
        }
    return sum;
}

TEST(Bine, MessagesTakeFewerHopsOnARing) {
    EXPECT_EQ(unit_hops("allreduce", "halving-doubling", 64), 24576U);
    EXPECT_EQ(unit_hops("allreduce", "swing", 64), 17280U);
    EXPECT_EQ(unit_hops("broadcast", "binomial", 64), 192U);
    EXPECT_EQ(unit_hops("broadcast", "bine", 64), 135U);
}

}  // namespace
}  // namespace weft::collectives
