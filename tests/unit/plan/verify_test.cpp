// SPDX-License-Identifier: BSD-3-Clause
// Goal: the verifier accepts valid programs, and its verdict has the right counts.
// Method: it reads known algorithms with rounds, messages and bytes that can be counted by hand.
#include "tools/verify/verify.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <optional>

#include "tests/support/sample_programs.hpp"

namespace weft::plan {
namespace {

Verdict judge(const std::vector<Program>& programs, const Contract& contract,
              std::uint64_t elements = 1) {
    return verify({.programs = programs, .contract = &contract, .elements = elements});
}

/// Expected values of the verdict; unset values are not compared.
struct Facts {
    std::optional<std::uint64_t> rounds, messages, signals, bytes_total, bytes_sent_max,
        reduced_bytes_max, slots_max, descriptors_max;
    std::optional<bool> ordered, bit_identical, synchronizing;
};

void expect(const Verdict& verdict, const Facts& facts) {
    ASSERT_TRUE(verdict.valid) << verdict.error;
    const auto compare = [](const auto& expected, const auto& found, const char* name) {
        EXPECT_EQ(expected ? *expected : found, found) << name;
    };
    compare(facts.rounds, verdict.rounds, "rounds");
    compare(facts.messages, verdict.messages, "messages");
    compare(facts.signals, verdict.signals, "signals");
    compare(facts.bytes_total, verdict.bytes_total, "bytes_total");
    compare(facts.bytes_sent_max, verdict.bytes_sent_max, "bytes_sent_max");
    compare(facts.reduced_bytes_max, verdict.reduced_bytes_max, "reduced_bytes_max");
    compare(facts.slots_max, verdict.slots_max, "slots_max");
    compare(facts.descriptors_max, verdict.descriptors_max, "descriptors_max");
    compare(facts.ordered, verdict.ordered, "ordered");
    compare(facts.bit_identical, verdict.bit_identical, "bit_identical");
    compare(facts.synchronizing, verdict.synchronizing, "synchronizing");
}

TEST(Verify, RecursiveDoublingIsOrderedAndBitIdentical) {
    expect(judge(test::recursive_doubling(16), test::allreduce_contract(), 10),
           {.rounds = 4,
            .messages = 64,
            .signals = 0,
            .bytes_total = 64 * 80,
            .bytes_sent_max = 4 * 80,
            .reduced_bytes_max = 4 * 80,
            .slots_max = 4,
            .descriptors_max = 4,
            .ordered = true,
            .bit_identical = true,
            .synchronizing = true});
}

TEST(Verify, AllToAllReductionTakesOneRound) {
    expect(judge(test::all_to_all_reduce(7), test::allreduce_contract()),
           {.rounds = 1,
            .messages = 42,
            .reduced_bytes_max = 6 * 8,
            .slots_max = 6,
            .ordered = true,
            .bit_identical = true,
            .synchronizing = true});
}

TEST(Verify, ARingIsUnorderedButBitIdentical) {
    for (const Rank ranks : {2, 3, 4, 7, 16}) {
        const auto n = static_cast<std::uint64_t>(ranks);
        expect(judge(test::ring(ranks), test::allreduce_contract(), 5 * n + 3),
               {.rounds = 2 * (n - 1),
                .messages = 2 * n * (n - 1),
                .bytes_total = 2 * (n - 1) * (5 * n + 3) * 8,
                .ordered = false,
                .bit_identical = true,
                .synchronizing = true});
    }
}

TEST(Verify, PipelinesWithCreditsAreValidForEveryDepth) {
    for (const std::uint32_t depth : {1U, 2U, 3U, 8U}) {
        for (const std::uint32_t segments : {1U, 2U, 7U}) {
            SCOPED_TRACE(fmt::format("depth {} segments {}", depth, segments));
            expect(judge(test::chain_broadcast(5, segments, depth), test::broadcast_contract(), 70),
                   {.messages = 4U * segments,
                    .signals = 4U * (segments > depth ? segments - depth : 0),
                    .slots_max = std::min(segments, depth),
                    .bit_identical = true,
                    .synchronizing = false});
            expect(judge(test::tree_allreduce(9, segments, depth), test::allreduce_contract(), 70),
                   {.bytes_total = 16 * 70 * 8,
                    .ordered = false,
                    .bit_identical = true,
                    .synchronizing = true});
        }
    }
}

TEST(Verify, BarriersSynchronizeWithoutPayload) {
    for (const Rank ranks : {1, 2, 3, 5, 8, 100})
        expect(judge(test::dissemination_barrier(ranks), test::barrier_contract()),
               {.messages = 0, .slots_max = 0, .synchronizing = true});
    expect(judge(test::dissemination_barrier(100), test::barrier_contract()),
           {.rounds = 7, .signals = 700, .descriptors_max = 7});
}

TEST(Verify, PublishedCellsAreReadInPlace) {
    const auto programs = test::programs_of(
        "units 2;"
        "rank 0; publish slot 0 from input; wait from 1 slot 0 published;"
        "        reduce output = input, published 0 of 1;"
        "rank 1; publish slot 0 from input; wait from 0 slot 0 published;"
        "        reduce output = published 0 of 0, input");
    expect(judge(programs, test::allreduce_contract(), 4), {.messages = 2,
                                                            .bytes_total = 64,
                                                            .slots_max = 0,
                                                            .ordered = true,
                                                            .bit_identical = true,
                                                            .synchronizing = true});
}

TEST(Verify, ExposedMemoryIsReadBetweenExposeAndDone) {
    const auto programs = test::programs_of(
        "root 0; units 3;"
        "rank 0; expose to 1 slot 0 from input; copy output = input; wait from 1 slot 0;"
        "rank 1; wait from 0 slot 0; copy output = mapped 0 of 0; signal to 0 slot 0");
    expect(judge(programs, test::broadcast_contract(), 6),
           {.rounds = 2, .messages = 0, .signals = 2, .synchronizing = true});
}

TEST(Verify, PutsIntoExposedOutputUseAFixedOrigin) {
    // An origin in a loop moves with the segment, so segment 1 would be put to the output's start.
    const auto moving_origin = test::programs_of(
        "root 1; units 2; segments 2;"
        "rank 0; expose to 1 slot 0 from output for writing; loop; wait from 1 slot 1; end;"
        "rank 1; copy output = input; wait from 0 slot 0;"
        "        loop; put to 0 slot 1 from input[0+1 advance 1]"
        "                  into mapped 0 of 0[0+1 advance 1 origin 0]; end");
    EXPECT_FALSE(judge(moving_origin, test::broadcast_contract(), 5).valid);
    const auto fixed_origin = test::programs_of(
        "root 1; units 2;"
        "rank 0; expose to 1 slot 0 from output for writing; wait from 1 slot 1; wait from 1 slot "
        "2;"
        "rank 1; copy output = input; wait from 0 slot 0;"
        "        put to 0 slot 1 from input[0] into mapped 0 of 0[0];"
        "        put to 0 slot 2 from input[1] into mapped 0 of 0[1 origin 0]");
    expect(judge(fixed_origin, test::broadcast_contract(), 5),
           {.messages = 2, .bytes_total = 40, .slots_max = 0});
}

/// Each rank reduces its part of both inputs directly into both outputs.
TEST(Verify, AReductionWritesAllItsTargets) {
    const auto programs = test::programs_of(
        "units 2;"
        "rank 0; expose to 1 slot 0 from input; expose to 1 slot 2 from output for writing;"
        "        wait from 1 slot 1; wait from 1 slot 3;"
        "        reduce output[0], mapped 3 of 1[0] = input[0], mapped 1 of 1[0];"
        "        signal to 1 slot 4; wait from 1 slot 4;"
        "rank 1; expose to 0 slot 1 from input; expose to 0 slot 3 from output for writing;"
        "        wait from 0 slot 0; wait from 0 slot 2;"
        "        reduce mapped 2 of 0[1 origin 0], output[1] = mapped 0 of 0[1 origin 0], input[1];"
        "        signal to 0 slot 4; wait from 0 slot 4");
    for (const std::uint64_t elements : {1U, 4U, 5U})
        expect(judge(programs, test::allreduce_contract(), elements), {.rounds = 2,
                                                                       .messages = 0,
                                                                       .signals = 6,
                                                                       .slots_max = 0,
                                                                       .ordered = true,
                                                                       .bit_identical = true,
                                                                       .synchronizing = true});
}

TEST(Verify, ListsOfBlocksArePackedInOrder) {
    const auto programs = test::programs_of(
        "root 0; units 4;"
        "rank 0; put to 1 slot 0 from {input[3], input[0+2 stride 2], input[1]};"
        "        copy output = input;"
        "rank 1; wait from 0 slot 0; copy {output[3], output[0+2 stride 2], output[1]} ="
        "                                 {slot 0[3], slot 0[0+2 stride 2], slot 0[1]}");
    for (const std::uint64_t elements : {0U, 4U, 6U, 41U})
        expect(judge(programs, test::broadcast_contract(), elements), {});
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
