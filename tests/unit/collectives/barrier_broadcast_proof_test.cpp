// SPDX-License-Identifier: BSD-3-Clause
// Goal: barriers synchronize and broadcasts reach everybody, for every size, radix and root.
// Method: the verifier over all of them, pipelined and rewritten for nodes too.
#include <algorithm>
#include <bit>

#include "collectives/notation/enumerate.hpp"
#include "tests/unit/collectives/proof.hpp"

namespace weft::collectives {
namespace {

std::uint64_t rounds_in_base(std::uint64_t base, std::uint64_t size) {
    std::uint64_t rounds = 0;
    for (std::uint64_t reach = 1; reach < size; reach *= base) ++rounds;
    return rounds;
}

TEST(BarrierProof, DisseminationSynchronizesInEveryRadix) {
    for (int size = 1; size <= 64; ++size) {
        for (int k = 1; k <= std::max(1, size - 1); ++k) {
            const auto verdict = prove("barrier", fmt::format("dissemination:k={}", k),
                                       {.size = size, .elements = 0});
            ASSERT_TRUE(verdict.valid) << size << " k=" << k << ": " << verdict.error;
            EXPECT_TRUE(verdict.synchronizing) << size << " k=" << k;
            const auto ranks = static_cast<std::uint64_t>(size);
            EXPECT_EQ(verdict.rounds, rounds_in_base(static_cast<std::uint64_t>(k) + 1, ranks));
            EXPECT_EQ(verdict.messages, 0U);
        }
    }
}

TEST(BarrierProof, EveryScheduleSynchronizes) {
    for (Rank size = 2; size <= 16; ++size) {
        for (int family = 0; family < 3; ++family)
            for_each_schedule(
                size, static_cast<ScheduleFamily>(family), [&](const Schedule& schedule) {
                    const auto verdict =
                        prove("barrier", fmt::format("multiplying:schedule=({})", print(schedule)),
                              {.size = size, .elements = 0});
                    EXPECT_TRUE(verdict.valid && verdict.synchronizing)
                        << print(schedule) << ": " << verdict.error;
                    EXPECT_EQ(verdict.messages, 0U);
                    return verdict.valid;
                });
    }
    for (const char* wrong :
         {"multiplying", "multiplying:schedule=a2", "multiplying:schedule=(a3)"})
        EXPECT_FALSE(generate("barrier", *parse_spec(wrong), {.size = 2}).ok()) << wrong;
}

TEST(BarrierProof, RoundsMayHaveARadixEach) {
    for (const auto& [rounds, covers] :
         std::vector<std::pair<const char*, int>>{{"a3,a2", 6}, {"a2,a3", 6}, {"a4,a2,a3", 24}}) {
        for (int size = 1; size <= covers; ++size) {
            const auto verdict = prove("barrier", fmt::format("dissemination:rounds=({})", rounds),
                                       {.size = size, .elements = 0});
            EXPECT_TRUE(verdict.valid && verdict.synchronizing) << rounds << ' ' << size;
        }
        const auto more =
            generate("barrier", *parse_spec(fmt::format("dissemination:rounds=({})", rounds)),
                     {.size = covers + 1});
        EXPECT_FALSE(more.ok());
    }
    for (const char* spec : {"dissemination:k=1,rounds=(a2)", "dissemination:rounds=2",
                             "dissemination:rounds=(c2m2,a2,e2m2)", "dissemination:rounds=(up)"})
        EXPECT_FALSE(generate("barrier", *parse_spec(spec), {.size = 2}).ok()) << spec;
}

TEST(BarrierProof, OneRoundUsesOneSharedNumberForEachSender) {
    const auto programs =
        generate_all("barrier", *parse_spec("dissemination:k=100"), {.size = 7, .elements = 0});
    for (const plan::Program& program : programs) {
        EXPECT_EQ(program.slots, 7U);
        for (const plan::Step& step : program.steps) {
            EXPECT_EQ(step.flags & plan::kShared, plan::kShared);
            const bool sends = step.kind == plan::StepKind::signal;
            EXPECT_EQ(static_cast<Rank>(step.signal), sends ? program.rank : step.peer);
        }
    }
}

TEST(BarrierProof, AlignedRoundsShareAndOthersDoNot) {
    const auto spec = *parse_spec("dissemination:k=2");
    const auto shared = [&](int size) {
        const auto program = *generate("barrier", spec, {.rank = 1, .size = size});
        std::vector<bool> list;
        for (const plan::Step& step : program.steps)
            if (step.kind == plan::StepKind::signal)
                list.push_back((step.flags & plan::kShared) != 0);
        return list;
    };
    EXPECT_EQ(shared(9), (std::vector<bool>{true, true, true, true}));
    EXPECT_EQ(shared(6), (std::vector<bool>{true, true, false}));
    EXPECT_EQ(shared(8), (std::vector<bool>{false, false, false, false}));
}

TEST(BarrierProof, CentralSynchronizesInTwoRounds) {
    for (int size = 1; size <= 64; ++size) {
        const auto verdict = prove("barrier", "central", {.size = size, .elements = 0});
        ASSERT_TRUE(verdict.valid) << size << ": " << verdict.error;
        EXPECT_TRUE(verdict.synchronizing);
        EXPECT_EQ(verdict.rounds, size > 1 ? 2U : 0U);
        EXPECT_EQ(verdict.signals, 2U * static_cast<unsigned>(size - 1));
    }
}

TEST(BarrierProof, ProgramsRewrittenForNodesStayRight) {
    for (const char* text :
         {"dissemination:k=1", "dissemination:k=2", "dissemination:k=11", "central"}) {
        const auto programs =
            generate_all("barrier", *parse_spec(text), {.size = 12, .elements = 0});
        for (Rank per_node = 1; per_node <= 12; ++per_node) {
            const auto verdict = prove("barrier", on_nodes(programs, per_node), 0);
            EXPECT_TRUE(verdict.valid)
                << text << " on nodes of " << per_node << ": " << verdict.error;
            EXPECT_TRUE(verdict.synchronizing) << text;
        }
    }
}

TEST(BroadcastProof, EveryRootReachesEverybody) {
    for (const char* text : {"binomial", "flat"}) {
        for (int size = 1; size <= 17; ++size) {
            for (Rank root = 0; root < size; ++root) {
                for (const std::uint32_t segments : {1U, 2U, 3U, 5U}) {
                    const auto verdict =
                        prove("broadcast", text,
                              {.size = size, .root = root, .segments = segments, .elements = 10});
                    ASSERT_TRUE(verdict.valid)
                        << text << " " << size << " root " << root << ": " << verdict.error;
                    EXPECT_TRUE(verdict.bit_identical);
                    EXPECT_EQ(verdict.messages, segments * static_cast<unsigned>(size - 1));
                    if (size > 1) {
                        EXPECT_FALSE(verdict.synchronizing && segments == 1);
                    }
                }
            }
        }
    }
}

TEST(BroadcastProof, BinomialIsAsDeepAsTheLastRankHasBitsAndFlatOne) {
    for (int size = 1; size <= 64; ++size) {
        // The depth of a rank is the number of its bits.
        int depth = 0;
        for (unsigned v = 0; v < static_cast<unsigned>(size); ++v)
            depth = std::max(depth, std::popcount(v));
        const GenerateRequest request{.size = size, .root = size / 2, .elements = 1};
        EXPECT_EQ(prove("broadcast", "binomial", request).rounds,
                  static_cast<std::uint64_t>(depth));
        EXPECT_EQ(prove("broadcast", "flat", request).rounds, size > 1 ? 1U : 0U);
    }
}

TEST(BroadcastProof, PipelinesHaveConstantDescriptors) {
    std::uint64_t descriptors = 0;
    for (const char* text :
         {"binomial:segments=2", "binomial:segments=7", "binomial:segments=40"}) {
        const auto verdict = prove("broadcast", text, {.size = 13, .root = 4, .elements = 1000});
        EXPECT_TRUE(verdict.valid) << text << ": " << verdict.error;
        if (descriptors == 0) descriptors = verdict.descriptors_max;
        EXPECT_EQ(verdict.descriptors_max, descriptors);
    }
}

TEST(BroadcastProof, ProgramsRewrittenForNodesStayRight) {
    for (const char* text : {"binomial", "flat", "binomial:segments=3", "flat:segments=3"}) {
        const auto programs =
            generate_all("broadcast", *parse_spec(text), {.size = 11, .root = 3, .elements = 6});
        for (Rank per_node = 1; per_node <= 11; ++per_node) {
            const auto verdict = prove("broadcast", on_nodes(programs, per_node), 6);
            EXPECT_TRUE(verdict.valid)
                << text << " on nodes of " << per_node << ": " << verdict.error;
        }
    }
}

TEST(BroadcastProof, NothingToSendIsRight) {
    const auto verdict = prove("broadcast", "binomial", {.size = 5, .root = 2, .elements = 0});
    EXPECT_TRUE(verdict.valid) << verdict.error;
    EXPECT_EQ(verdict.messages, 0U);
}

}  // namespace
}  // namespace weft::collectives
