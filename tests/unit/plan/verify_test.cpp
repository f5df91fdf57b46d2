// SPDX-License-Identifier: BSD-3-Clause
// Goal: sound programs are accepted and described by the right facts.
// Method: known algorithms, whose rounds, messages and bytes can be counted by hand.
#include "plan/verify/verify.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "tests/support/sample_programs.hpp"

namespace weft::plan {
namespace {

Verdict judge(const std::vector<Program>& programs, const Contract& contract,
              std::uint64_t elements = 1) {
    return verify({.programs = programs, .contract = &contract, .elements = elements});
}

TEST(Verify, RecursiveDoublingIsOrderedAndAlikeEverywhere) {
    const Verdict verdict = judge(test::recursive_doubling(16), test::allreduce_contract(), 10);
    ASSERT_TRUE(verdict.valid) << verdict.error;
    EXPECT_EQ(verdict.rounds, 4U);
    EXPECT_EQ(verdict.messages, 64U);
    EXPECT_EQ(verdict.signals, 0U);
    EXPECT_EQ(verdict.bytes_total, 64U * 80);
    EXPECT_EQ(verdict.bytes_sent_max, 4U * 80);
    EXPECT_EQ(verdict.reduced_bytes_max, 4U * 80);
    EXPECT_TRUE(verdict.ordered);
    EXPECT_TRUE(verdict.bit_identical);
    EXPECT_TRUE(verdict.synchronizing);
    EXPECT_EQ(verdict.slots_max, 4U);
    EXPECT_EQ(verdict.descriptors_max, 4U);
}

TEST(Verify, OneReductionOverAllOperandsInOneRound) {
    const Verdict verdict = judge(test::all_to_all_reduce(7), test::allreduce_contract());
    ASSERT_TRUE(verdict.valid) << verdict.error;
    EXPECT_EQ(verdict.rounds, 1U);
    EXPECT_EQ(verdict.messages, 42U);
    EXPECT_EQ(verdict.reduced_bytes_max, 6U * 8);
    EXPECT_EQ(verdict.slots_max, 6U);
    EXPECT_TRUE(verdict.ordered);
    EXPECT_TRUE(verdict.bit_identical);
    EXPECT_TRUE(verdict.synchronizing);
}

TEST(Verify, RingNeedsACommutativeOperationButIsAlikeEverywhere) {
    for (const Rank ranks : {2, 3, 4, 7, 16}) {
        const auto n = static_cast<std::uint64_t>(ranks);
        const Verdict verdict = judge(test::ring(ranks), test::allreduce_contract(), 5 * n + 3);
        ASSERT_TRUE(verdict.valid) << verdict.error;
        EXPECT_EQ(verdict.rounds, 2 * (n - 1));
        EXPECT_EQ(verdict.messages, 2 * n * (n - 1));
        EXPECT_EQ(verdict.bytes_total, 2 * (n - 1) * (5 * n + 3) * 8);
        EXPECT_FALSE(verdict.ordered);
        EXPECT_TRUE(verdict.bit_identical);
        EXPECT_TRUE(verdict.synchronizing);
    }
}

TEST(Verify, PipelinesWithCreditsAreSoundForEveryDepth) {
    for (const std::uint32_t depth : {1U, 2U, 3U, 8U}) {
        for (const std::uint32_t segments : {1U, 2U, 7U}) {
            Verdict verdict =
                judge(test::chain_broadcast(5, segments, depth), test::broadcast_contract(), 70);
            ASSERT_TRUE(verdict.valid) << depth << " " << segments << ": " << verdict.error;
            EXPECT_EQ(verdict.messages, 4U * segments);
            EXPECT_EQ(verdict.signals, 4U * (segments > depth ? segments - depth : 0));
            EXPECT_EQ(verdict.slots_max, std::min(segments, depth));
            EXPECT_FALSE(verdict.synchronizing);
            EXPECT_TRUE(verdict.bit_identical);
            verdict =
                judge(test::tree_allreduce(9, segments, depth), test::allreduce_contract(), 70);
            ASSERT_TRUE(verdict.valid) << depth << " " << segments << ": " << verdict.error;
            EXPECT_FALSE(verdict.ordered);
            EXPECT_TRUE(verdict.bit_identical);
            EXPECT_TRUE(verdict.synchronizing);
            EXPECT_EQ(verdict.bytes_total, 16U * 70 * 8);
        }
    }
}

TEST(Verify, BarriersSynchronizeWithoutPayload) {
    for (const Rank ranks : {1, 2, 3, 5, 8, 100}) {
        const Verdict verdict = judge(test::dissemination_barrier(ranks), test::barrier_contract());
        ASSERT_TRUE(verdict.valid) << verdict.error;
        EXPECT_TRUE(verdict.synchronizing);
        EXPECT_EQ(verdict.messages, 0U);
        EXPECT_EQ(verdict.slots_max, 0U);
    }
    const Verdict verdict = judge(test::dissemination_barrier(100), test::barrier_contract());
    EXPECT_EQ(verdict.rounds, 7U);
    EXPECT_EQ(verdict.signals, 700U);
    EXPECT_EQ(verdict.descriptors_max, 7U);
}

TEST(Verify, PublishedCellsAreReadInPlace) {
    const auto programs = test::programs_of(R"(
units 2
rank 0
  publish slot 0 from input
  wait from 1 slot 0 published
  reduce output = input, published 0 of 1
rank 1
  publish slot 0 from input
  wait from 0 slot 0 published
  reduce output = published 0 of 0, input
)");
    const Verdict verdict = judge(programs, test::allreduce_contract(), 4);
    ASSERT_TRUE(verdict.valid) << verdict.error;
    EXPECT_EQ(verdict.messages, 2U);
    EXPECT_EQ(verdict.bytes_total, 64U);
    EXPECT_EQ(verdict.slots_max, 0U);
    EXPECT_TRUE(verdict.ordered);
    EXPECT_TRUE(verdict.bit_identical);
    EXPECT_TRUE(verdict.synchronizing);
}

TEST(Verify, ExposedMemoryIsReadBetweenExposeAndDone) {
    const auto programs = test::programs_of(R"(
root 0
units 3
rank 0
  expose to 1 slot 0 from input
  copy output = input
  wait from 1 slot 0
rank 1
  wait from 0 slot 0
  copy output = mapped 0 of 0
  signal to 0 slot 0
)");
    const Verdict verdict = judge(programs, test::broadcast_contract(), 6);
    ASSERT_TRUE(verdict.valid) << verdict.error;
    EXPECT_EQ(verdict.signals, 2U);
    EXPECT_EQ(verdict.messages, 0U);
    EXPECT_EQ(verdict.rounds, 2U);
    EXPECT_TRUE(verdict.synchronizing);
}

TEST(Verify, PutsIntoExposedOutput) {
    const auto programs = test::programs_of(R"(
root 1
units 2
segments 2
rank 0
  expose to 1 slot 0 from output
  loop
    wait from 1 slot 1
  end
rank 1
  copy output = input
  wait from 0 slot 0
  loop
    put to 0 slot 1 from input[0+1 advance 1] into mapped 0 of 0[0+1 advance 1 origin 0]
  end
)");
    // The origin moves along with the segment, so segment 1 would go to the start of the output.
    Verdict verdict = judge(programs, test::broadcast_contract(), 5);
    EXPECT_FALSE(verdict.valid);
    const auto good = test::programs_of(R"(
root 1
units 2
rank 0
  expose to 1 slot 0 from output
  wait from 1 slot 1
  wait from 1 slot 2
rank 1
  copy output = input
  wait from 0 slot 0
  put to 0 slot 1 from input[0] into mapped 0 of 0[0]
  put to 0 slot 2 from input[1] into mapped 0 of 0[1 origin 0]
)");
    verdict = judge(good, test::broadcast_contract(), 5);
    ASSERT_TRUE(verdict.valid) << verdict.error;
    EXPECT_EQ(verdict.messages, 2U);
    EXPECT_EQ(verdict.slots_max, 0U);
    EXPECT_EQ(verdict.bytes_total, 40U);
}

TEST(Verify, ListsOfBlocksArePackedInTheirOrder) {
    const auto programs = test::programs_of(R"(
root 0
units 4
rank 0
  put to 1 slot 0 from {input[3], input[0+2 stride 2], input[1]}
  copy output = input
rank 1
  wait from 0 slot 0
  copy {output[3], output[0+2 stride 2], output[1]} = {slot 0[3], slot 0[0+2 stride 2], slot 0[1]}
)");
    for (const std::uint64_t elements : {0U, 4U, 6U, 41U}) {
        const Verdict verdict = judge(programs, test::broadcast_contract(), elements);
        ASSERT_TRUE(verdict.valid) << elements << ": " << verdict.error;
    }
}

TEST(Verify, ThirtyTwoRanksTakeLessThanFiveMilliseconds) {
    const Contract contract = test::allreduce_contract();
    for (const auto& programs :
         {test::recursive_doubling(32), test::all_to_all_reduce(32), test::ring(32)}) {
        double best_ms = 1e9;
        for (int i = 0; i < 10; ++i) {
            const auto start = std::chrono::steady_clock::now();
            ASSERT_TRUE(judge(programs, contract, 32).valid);
            const std::chrono::duration<double, std::milli> took =
                std::chrono::steady_clock::now() - start;
            best_ms = std::min(best_ms, took.count());
        }
        std::printf("%s: %.2f ms\n", programs[0].algorithm.c_str(), best_ms);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        EXPECT_LT(best_ms, 5.0) << programs[0].algorithm;
#endif
    }
}

}  // namespace
}  // namespace weft::plan
