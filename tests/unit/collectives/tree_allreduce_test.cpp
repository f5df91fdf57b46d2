// SPDX-License-Identifier: BSD-3-Clause
// Goal: allreduce along trees and over butterflies is right, in rank order and alike on all ranks; the
// regular tree is as low as can be. Method: the verifier on every size up to 40; the tree's arithmetic
// against its definition.
#include <bit>

#include "collectives/patterns/kary.hpp"
#include "tests/unit/collectives/proof.hpp"

namespace weft::collectives {
namespace {

TEST(Kary, PlacesAgreeAndTheTreeIsAsLowAsCanBe) {
    for (Rank degree = 1; degree <= 5; ++degree) {
        for (Rank size = 1; size <= 60; ++size) {
            const patterns::Kary tree{size, degree};
            int height = 0;
            for (Rank v = 0; v < size; ++v) {
                const auto place = tree.place_of(v);
                EXPECT_LE(place.children.size(), tree.children_max());
                EXPECT_EQ(place.parent < 0, v == 0);
                int depth = 0;
                for (Rank up = v; up != 0; up = tree.place_of(up).parent) ++depth;
                height = std::max(height, depth);
                for (std::size_t i = 0; i < place.children.size(); ++i) {
                    const auto child = tree.place_of(place.children[i]);
                    EXPECT_EQ(child.parent, v);
                    EXPECT_EQ(child.child_index, i);
                }
            }
            // A tree of height h holds 1 + k + .. + k^h ranks.
            std::int64_t held = 1;
            std::int64_t row = 1;
            int lowest = 0;
            for (; held < size; held += row, ++lowest) row *= degree;
            EXPECT_EQ(height, lowest) << size << " of degree " << degree;
        }
    }
}

TEST(ReduceBroadcast, ServesEverySizeAndTree) {
    for (const char* spec :
         {"reduce-broadcast", "reduce-broadcast:tree=(binomial)", "reduce-broadcast:tree=(kary)",
          "reduce-broadcast:tree=(kary:k=1)", "reduce-broadcast:tree=(kary:k=3)"}) {
        for (int size = 1; size <= 40; ++size) {
            const auto verdict = prove("allreduce", spec, {.size = size, .elements = 2});
            EXPECT_TRUE(verdict.valid) << spec << ' ' << size << ": " << verdict.error;
            EXPECT_TRUE(verdict.ordered && verdict.bit_identical && verdict.synchronizing);
            EXPECT_EQ(verdict.messages, 2U * static_cast<unsigned>(size - 1));
            EXPECT_EQ(verdict.signals, 0U);
        }
    }
    const auto binomial = prove("allreduce", "reduce-broadcast", {.size = 32, .elements = 1});
    EXPECT_EQ(binomial.rounds, 10U);
    EXPECT_EQ(binomial.descriptors_max, 5U);
    const auto regular =
        prove("allreduce", "reduce-broadcast:tree=(kary:k=2)", {.size = 31, .elements = 1});
    EXPECT_EQ(regular.rounds, 8U);
    EXPECT_EQ(regular.descriptors_max, 3U);
}

TEST(ReduceBroadcast, PipelinesAndNodesStayRight) {
    for (const char* spec :
         {"reduce-broadcast:tree=(binomial)", "reduce-broadcast:tree=(kary:k=2)"}) {
        for (const std::uint32_t segments : {1U, 2U, 5U}) {
            for (const std::uint64_t elements : {0U, 3U, 100U}) {
                const auto programs =
                    generate_all("allreduce", *parse_spec(spec),
                                 {.size = 13, .segments = segments, .elements = elements});
                for (const Rank per_node : {1, 4, 13}) {
                    const auto verdict = prove("allreduce", on_nodes(programs, per_node), elements);
                    EXPECT_TRUE(verdict.valid) << spec << ": " << verdict.error;
                }
            }
        }
    }
}

TEST(ReduceBroadcast, UnusableTreesAreRefusedWithTheReason) {
    for (const auto& [spec, words] : std::vector<std::pair<std::string, std::string>>{
             {"reduce-broadcast:tree=binomial", "character 23: tree must be (binomial)"},
             {"reduce-broadcast:tree=(a2)", "character 24: tree must be (binomial)"},
             {"reduce-broadcast:tree=(oak)", "character 24: there is no tree 'oak'"},
             {"reduce-broadcast:tree=(binomial:k=2)", "character 35: binomial has no parameters"},
             {"reduce-broadcast:tree=(kary:d=2)", "kary has no parameter 'd'"},
             {"reduce-broadcast:tree=(kary:k=0)", "k=0 is not in 1.."}}) {
        const auto program = generate("allreduce", *parse_spec(spec), {.size = 4, .elements = 1});
        ASSERT_FALSE(program.ok()) << spec;
        EXPECT_NE(program.failure().text.find(words), std::string::npos) << program.failure().text;
    }
}

TEST(ReduceBroadcast, AMillionRanksAreGeneratedOneAtATime) {
    const auto spec = *parse_spec("reduce-broadcast:tree=(kary:k=2)");
    std::uint32_t slots = 0;
    for (const Rank rank : {0, 1, 999'999, 123'456}) {
        const auto program =
            generate("allreduce", spec, {.rank = rank, .size = 1'000'000, .elements = 1});
        ASSERT_TRUE(program.ok()) << program.failure().text;
        EXPECT_LE(program->descriptors(), 3U);
        if (slots == 0) slots = program->slots;
        EXPECT_EQ(program->slots, slots);
    }
}

TEST(Butterfly, ServesPowersOfTwoOnly) {
    for (int size = 1; size <= 64; ++size) {
        const auto spec = *parse_spec("butterfly");
        if (!std::has_single_bit(static_cast<unsigned>(size))) {
            const auto refused = generate("allreduce", spec, {.size = size, .elements = 1});
            ASSERT_FALSE(refused.ok());
            EXPECT_NE(refused.failure().text.find("power of two"), std::string::npos);
            continue;
        }
        const auto verdict = prove("allreduce", spec, {.size = size, .elements = 1});
        EXPECT_TRUE(verdict.valid && verdict.ordered && verdict.bit_identical) << verdict.error;
        EXPECT_EQ(verdict.rounds, std::bit_width(static_cast<unsigned>(size)) - 1U);
        EXPECT_EQ(verdict.descriptors_max, verdict.rounds);
    }
}

}  // namespace
}  // namespace weft::collectives
