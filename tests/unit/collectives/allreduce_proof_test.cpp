// SPDX-License-Identifier: BSD-3-Clause
// Goal: every schedule of recursive multiplying is an allreduce, in rank order, alike on all ranks.
// Method: the verifier on all factored, split and merged schedules of small sizes, and on the
// worked examples, nested levels, pipelines and programs rewritten for nodes.
#include <bit>

#include "collectives/notation/enumerate.hpp"
#include "tests/unit/collectives/proof.hpp"

namespace weft::collectives {
namespace {

constexpr ScheduleFamily kFamilies[] = {ScheduleFamily::factored, ScheduleFamily::split,
                                        ScheduleFamily::merged};

TEST(AllreduceProof, All5013SchedulesUpTo32RanksAreRightAndInRankOrder) {
    int proved = 0;
    for (Rank size = 2; size <= 32; ++size) {
        for (const ScheduleFamily family : kFamilies) {
            for_each_schedule(size, family, [&](const Schedule& schedule) {
                const auto verdict = prove("allreduce", AlgorithmSpec{.schedule = schedule},
                                           {.size = size, .elements = 1});
                EXPECT_TRUE(verdict.valid) << print(schedule) << ": " << verdict.error;
                EXPECT_TRUE(verdict.ordered) << print(schedule);
                EXPECT_TRUE(verdict.bit_identical) << print(schedule);
                EXPECT_TRUE(verdict.synchronizing) << print(schedule);
                // A chain may miss stages of a split: not every rank takes part in all.
                if (family == ScheduleFamily::split)
                    EXPECT_LE(verdict.rounds, schedule.size()) << print(schedule);
                else
                    EXPECT_EQ(verdict.rounds, schedule.size()) << print(schedule);
                ++proved;
                return verdict.valid;
            });
        }
    }
    EXPECT_EQ(proved, 5013);
}

TEST(AllreduceProof, ThePapersPlacementIsOutOfRankOrder914Times) {
    int out_of_order = 0;
    for (Rank size = 2; size <= 32; ++size) {
        for_each_schedule(size, ScheduleFamily::merged, [&](const Schedule& schedule) {
            const auto verdict =
                prove("allreduce", AlgorithmSpec{.schedule = schedule},
                      {.size = size, .elements = 1, .placement = Placement::paper});
            EXPECT_TRUE(verdict.valid) << print(schedule) << ": " << verdict.error;
            EXPECT_TRUE(verdict.bit_identical) << print(schedule);
            if (!verdict.ordered) ++out_of_order;
            return verdict.valid;
        });
    }
    EXPECT_EQ(out_of_order, 914);
}

TEST(AllreduceProof, WorkedExamplesHaveThePublishedStagesAndMessages) {
    struct Case {
        const char* schedule;
        int size;
        std::uint64_t stages;
        std::uint64_t messages;
    };
    for (const Case& c :
         {Case{"a3,a2", 6, 2, 18}, Case{"c4m2,a2,a2,e4m2", 6, 4, 12},
          Case{"m1g2a3,n1g3a2", 7, 2, 23}, Case{"m3g2a2,n3g2a2", 7, 2, 20},
          Case{"c6m2,a2,a2,e6m2", 7, 4, 14}, Case{"a2,a5", 10, 2, 50},
          Case{"c4m2,a8,e4m2", 10, 3, 60}, Case{"m2g3a3,n2g3a3", 11, 2, 48},
          Case{"m1g2a5,n1g5a2", 11, 2, 57}, Case{"m1g4a3,n1g3a4", 13, 2, 67},
          Case{"m1g3a4,n1g4a3", 13, 2, 67}, Case{"c10m2,a2,a2,a2,e10m2", 13, 5, 34}}) {
        for (const Placement placement : {Placement::ordered, Placement::paper}) {
            const auto verdict = prove("allreduce", c.schedule,
                                       {.size = c.size, .elements = 3, .placement = placement});
            EXPECT_TRUE(verdict.valid) << c.schedule << ": " << verdict.error;
            EXPECT_EQ(parse_spec(c.schedule)->schedule.size(), c.stages) << c.schedule;
            if (c.schedule[0] != 'c') {
                EXPECT_EQ(verdict.rounds, c.stages) << c.schedule;
            }
            EXPECT_EQ(verdict.messages, c.messages) << c.schedule;
            EXPECT_EQ(verdict.bytes_total, c.messages * 24) << c.schedule;
            EXPECT_EQ(verdict.signals, 0U) << c.schedule;
        }
    }
}

TEST(AllreduceProof, LevelsNest) {
    struct Case {
        const char* schedule;
        int size;
    };
    for (const Case& c :
         {Case{"c4m4,e4m4", 4}, Case{"c4m2,c2m2,a3,e2m2,e4m2", 6},
          Case{"c4m2,m1g2a2,n1g2a2,e4m2", 7}, Case{"c6m3,c4m2,m2g2a3,n2g3a2,e4m2,e6m3", 14},
          Case{"c2m2,c2m2,c2m2,a2,e2m2,e2m2,e2m2", 5}, Case{"c9m3,m5g2a2,n5g2a2,e9m3", 15},
          Case{"c8m2,c4m4,a3,a2,e4m4,e8m2", 13}}) {
        for (const Placement placement : {Placement::ordered, Placement::paper}) {
            const auto verdict = prove("allreduce", c.schedule,
                                       {.size = c.size, .elements = 1, .placement = placement});
            EXPECT_TRUE(verdict.valid) << c.schedule << ": " << verdict.error;
            EXPECT_TRUE(verdict.bit_identical) << c.schedule;
            if (placement == Placement::ordered) {
                EXPECT_TRUE(verdict.ordered) << c.schedule;
            }
        }
    }
}

TEST(AllreduceProof, PipelinesKeepEverySegmentApart) {
    struct Case {
        const char* schedule;
        int size;
    };
    for (const Case& c : {Case{"a2,a2,a2", 8}, Case{"a6", 6}, Case{"c6m2,a2,a2,e6m2", 7},
                          Case{"m3g2a2,n3g2a2", 7}, Case{"c4m2,m1g2a2,n1g2a2,e4m2", 7}}) {
        std::uint64_t descriptors = 0;
        for (std::uint32_t segments = 1; segments <= 5; ++segments) {
            for (const std::uint64_t elements : {3U, 100U}) {
                const auto verdict =
                    prove("allreduce", c.schedule,
                          {.size = c.size, .segments = segments, .elements = elements});
                EXPECT_TRUE(verdict.valid) << c.schedule << ": " << verdict.error;
                EXPECT_TRUE(verdict.ordered && verdict.bit_identical && verdict.synchronizing);
                if (segments == 1) descriptors = verdict.descriptors_max;
                EXPECT_EQ(verdict.descriptors_max, descriptors) << c.schedule;
            }
        }
    }
}

TEST(AllreduceProof, TheRequestCutsEachPieceOfTheSpec) {
    const auto spec = *parse_spec("multiplying:schedule=(a2,a3),segments=4");
    const auto programs =
        generate_all("allreduce", spec, {.size = 6, .segments = 2, .elements = 64});
    EXPECT_EQ(programs.front().segments, 8U);
    EXPECT_EQ(programs.front().algorithm, "multiplying:schedule=(a2,a3),segments=4");
    const auto verdict = prove("allreduce", programs, 64);
    EXPECT_TRUE(verdict.valid) << verdict.error;
}

TEST(AllreduceProof, RecursiveDoublingServesEverySize) {
    for (int size = 1; size <= 64; ++size) {
        const auto verdict =
            prove("allreduce", "recursive-doubling", {.size = size, .elements = 1});
        const auto ranks = static_cast<std::uint32_t>(size);
        const std::uint64_t power = std::has_single_bit(ranks) ? 0 : 2;
        EXPECT_TRUE(verdict.valid) << size << ": " << verdict.error;
        EXPECT_TRUE(verdict.ordered && verdict.bit_identical && verdict.synchronizing);
        if (power == 0) {
            EXPECT_EQ(verdict.rounds, std::bit_width(ranks) - 1U) << size;
        } else {
            EXPECT_LE(verdict.rounds, std::bit_width(ranks) + 1U) << size;
            EXPECT_GE(verdict.rounds, std::bit_width(ranks)) << size;
        }
    }
}

TEST(AllreduceProof, EliminationCostsOneRoundWhateverTheSize) {
    for (int size = 1; size <= 64; ++size) {
        for (const std::uint32_t segments : {1U, 3U}) {
            const auto verdict = prove("allreduce", "elimination",
                                       {.size = size, .segments = segments, .elements = 7});
            const auto n = static_cast<std::uint64_t>(size);
            EXPECT_TRUE(verdict.valid) << size << ": " << verdict.error;
            EXPECT_TRUE(verdict.ordered && verdict.bit_identical && verdict.synchronizing);
            std::uint64_t messages = 0;
            for (std::uint64_t groups = n, width = 1; groups > 1; groups /= 2, width *= 2)
                messages += 2 * width * (groups / 2 + groups % 2);
            EXPECT_EQ(verdict.messages, segments * messages) << size;
            EXPECT_EQ(verdict.bytes_total, messages * 56) << size;
            if (segments > 1) continue;
            EXPECT_GE(verdict.rounds, static_cast<std::uint64_t>(std::bit_width(n - 1)));
            // A chain may miss whoever is late.
            EXPECT_LE(verdict.rounds, std::bit_width(n - 1) + (std::has_single_bit(n) ? 0 : 1))
                << size;
        }
    }
}

TEST(AllreduceProof, DoubleTreesSendAndReduceWhatTheirFormulasSay) {
    for (int size = 1; size <= 64; ++size) {
        for (const std::uint32_t segments : {1U, 2U, 5U}) {
            const auto verdict = prove("allreduce", "double-tree",
                                       {.size = size, .segments = segments, .elements = 20});
            const auto n = static_cast<std::uint64_t>(size);
            ASSERT_TRUE(verdict.valid) << size << ": " << verdict.error;
            EXPECT_TRUE(verdict.bit_identical && verdict.synchronizing);
            EXPECT_TRUE(verdict.ordered || size % 2 == 0) << size;
            EXPECT_EQ(verdict.messages, 4 * segments * (n - 1)) << size;
            EXPECT_EQ(verdict.bytes_total, 2 * (n - 1) * 160) << size;
            EXPECT_LE(verdict.reduced_bytes_max, 160U) << size;
            if (segments > 1) continue;
            EXPECT_EQ(verdict.rounds, 2 * static_cast<std::uint64_t>(std::bit_width(n - 1)));
        }
    }
}

TEST(AllreduceProof, ProgramsRewrittenForNodesStayRight) {
    struct Case {
        const char* schedule;
        int size;
    };
    for (const Case& c : {Case{"a8", 8}, Case{"a2,a4", 8}, Case{"m2g3a3,n2g3a3", 11},
                          Case{"c6m2,a2,a2,e6m2", 7}, Case{"m3g2a2,n3g2a2", 7}}) {
        const auto spec = *parse_spec(c.schedule);
        for (const std::uint32_t segments : {1U, 3U}) {
            const auto programs = generate_all(
                "allreduce", spec, {.size = c.size, .segments = segments, .elements = 3});
            for (Rank per_node = 1; per_node <= c.size; ++per_node) {
                const auto verdict = prove("allreduce", on_nodes(programs, per_node), 3);
                EXPECT_TRUE(verdict.valid)
                    << c.schedule << " on nodes of " << per_node << ": " << verdict.error;
                EXPECT_TRUE(verdict.bit_identical && verdict.ordered);
            }
        }
    }
}

TEST(AllreduceProof, NothingToReduceIsRightAndSynchronizesNobody) {
    const auto verdict = prove("allreduce", "a2,a2", {.size = 4, .elements = 0});
    EXPECT_TRUE(verdict.valid) << verdict.error;
    EXPECT_FALSE(verdict.synchronizing);
    EXPECT_EQ(verdict.messages, 0U);
}

TEST(AllreduceProof, AMillionRanksAreGeneratedOneAtATime) {
    const auto spec = *parse_spec("a4,a4,a4,a5,a5,a5,a5,a5,a5");
    std::uint32_t slots = 0;
    for (const Rank rank : {0, 1, 999999, 123456}) {
        const auto program =
            generate("allreduce", spec, {.rank = rank, .size = 1000000, .elements = 1});
        ASSERT_TRUE(program.ok()) << program.failure().text;
        EXPECT_EQ(program->descriptors(), 33U);
        EXPECT_LT(program->steps.size(), 100U);
        if (slots == 0) slots = program->slots;
        EXPECT_EQ(program->slots, slots);
    }
}

}  // namespace
}  // namespace weft::collectives
