// SPDX-License-Identifier: BSD-3-Clause
// Goal: every schedule of recursive multiplying is an allreduce in rank order, with equal
// bits on all ranks.
// Method: the verifier on all factored, split and merged schedules for small numbers of ranks, and
// on worked examples, nested levels, pipelines and programs rewritten for nodes.
#include <bit>

#include "collectives/notation/enumerate.hpp"
#include "tests/model/collectives/proof.hpp"

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
                // In a split schedule some ranks skip stages, so the longest chain may be shorter.
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

TEST(AllreduceProof, ThePapersPlacementBreaksRankOrder914Times) {
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

struct Case {
    const char* schedule;
    int size;
    std::uint64_t stages = 0;    ///< expected
    std::uint64_t messages = 0;  ///< expected total of all ranks
};

TEST(AllreduceProof, WorkedExamplesHaveThePublishedStagesAndMessages) {
    for (const Case& c :
         {Case{"a3,a2", 6, 2, 18}, Case{"c4m2,a2,a2,e4m2", 6, 4, 12}, Case{"a2,a2,a2", 8, 3, 24},
          Case{"a2,a4", 8, 2, 32}, Case{"m1g2a3,n1g3a2", 7, 2, 23}, Case{"m3g2a2,n3g2a2", 7, 2, 20},
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

TEST(AllreduceProof, NestedLevelsAreRight) {
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

TEST(AllreduceProof, PipelinesKeepSegmentsSeparate) {
    for (const Case& c :
         {Case{"a2,a2,a2", 8}, Case{"a6", 6}, Case{"c6m2,a2,a2,e6m2", 7}, Case{"m3g2a2,n3g2a2", 7},
          Case{"c4m2,m1g2a2,n1g2a2,e4m2", 7}, Case{"c4m2,c2m2,m2g2a2,n2g2a2,e2m2,e4m2", 9}}) {
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

TEST(AllreduceProof, TheRequestDividesEachSegmentOfTheSpec) {
    const auto spec = *parse_spec("multiplying:schedule=(a2,a3),segments=4");
    const auto programs =
        generate_all("allreduce", spec, {.size = 6, .segments = 2, .elements = 64});
    EXPECT_EQ(programs.front().segments, 8U);
    EXPECT_EQ(programs.front().algorithm, "multiplying:schedule=(a2,a3),segments=4");
    const auto verdict = prove("allreduce", programs, 64);
    EXPECT_TRUE(verdict.valid) << verdict.error;
}

TEST(AllreduceProof, ProgramsRewrittenForNodesStayRight) {
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

}  // namespace
}  // namespace weft::collectives
