// SPDX-License-Identifier: BSD-3-Clause
// Goal: programs of thousands of ranks are verified fast; the test prints the time. A missing or
// doubled contribution of one rank is detected, with operands in rank order and out of order.
// Method: the verifier reads recursive doubling on 4,096 ranks (12 rounds), unchanged and with one
// faulty reduction.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "plan/schedule/builder.hpp"
#include "plan/schedule/localize.hpp"
#include "plan/schedule/step.hpp"
#include "tests/support/sample_programs.hpp"
#include "tools/verify/values.hpp"
#include "tools/verify/verify.hpp"

namespace weft::plan {
namespace {

constexpr Rank kRanks = 4096;

/// Returns recursive doubling out of rank order: every rank's own value is the first operand.
std::vector<Program> own_first() {
    std::vector<Program> programs = test::recursive_doubling(kRanks);
    for (Program& program : programs) {
        for (Step& step : program.steps) {
            if (step.kind != StepKind::reduce) continue;
            Block& first = program.blocks[step.source.start];
            if (first.buffer == Buffer::slot)
                std::swap(first, program.blocks[step.source.start + 1]);
        }
    }
    return programs;
}

Verdict judge(const std::vector<Program>& programs) {
    const Contract contract = test::allreduce_contract();
    const auto start = std::chrono::steady_clock::now();
    Verdict verdict = verify({.programs = programs, .contract = &contract});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%d ranks: %.3f s\n", kRanks, took.count());
    return verdict;
}

/// Replaces the operands of the last reduction of rank 1234, which combines the sum of ranks 0 to
/// 2047 (output) with the sum of ranks 2048 to 4095 (slot 11).
void replace_last_operands(std::vector<Program>& programs, std::vector<Block> operands) {
    Program& program = programs[1234];
    Step& step = program.steps.back();
    ASSERT_EQ(step.kind, StepKind::reduce);
    step.operands = static_cast<std::uint32_t>(operands.size());
    step.source = {static_cast<std::uint32_t>(program.blocks.size()), step.operands};
    program.blocks.insert(program.blocks.end(), operands.begin(), operands.end());
}

TEST(VerifyLarge, AReductionInRankOrderIsValid) {
    const Verdict verdict = judge(test::recursive_doubling(kRanks));
    ASSERT_TRUE(verdict.valid) << verdict.error;
    EXPECT_EQ(verdict.rounds, 12U);
    EXPECT_EQ(verdict.messages, 12U * kRanks);
    EXPECT_TRUE(verdict.ordered);
    EXPECT_TRUE(verdict.bit_identical);
    EXPECT_TRUE(verdict.synchronizing);
}

TEST(VerifyLarge, AReductionOutOfRankOrderIsValidButUnordered) {
    const Verdict verdict = judge(own_first());
    ASSERT_TRUE(verdict.valid) << verdict.error;
    EXPECT_FALSE(verdict.ordered);
    EXPECT_FALSE(verdict.bit_identical);
}

TEST(VerifyLarge, AMissingContributionIsDetected) {
    for (auto programs : {test::recursive_doubling(kRanks), own_first()}) {
        replace_last_operands(programs, {output()});
        const Verdict verdict = judge(programs);
        EXPECT_FALSE(verdict.valid);
        EXPECT_EQ(verdict.error,
                  "rank 1234 ends without its result: output[0] misses the contribution of rank "
                  "2048, misses the contribution of rank 2049, misses the contribution of rank "
                  "2050, and more");
    }
}

TEST(VerifyLarge, ADoubledContributionIsDetected) {
    for (auto programs : {test::recursive_doubling(kRanks), own_first()}) {
        replace_last_operands(programs, {output(), slot(11), slot(0)});
        const Verdict verdict = judge(programs);
        EXPECT_FALSE(verdict.valid);
        // Slot 0 still has the input of rank 1235.
        EXPECT_EQ(
            verdict.error,
            "rank 1234 ends without its result: output[0] holds the contribution of rank 1235 "
            "2 times");
    }
}

TEST(VerifyLarge, AMissingSynchronizationIsDetected) {
    std::vector<Program> programs = test::dissemination_barrier(kRanks);
    const Contract contract = test::barrier_contract();
    EXPECT_TRUE(verify({.programs = programs, .contract = &contract}).valid);
    for (Program& program : programs) {  // removes the last round of all ranks
        program.steps.resize(program.steps.size() - 2);
        program.lanes[0].count -= 2;
    }
    EXPECT_EQ(verify({.programs = programs, .contract = &contract}).error,
              "rank 0 may end before rank 1 has started, but the contract is synchronizing");
}

/// Values counts contributions by random weights (each_once_by_weight) or exactly (each_once).
TEST(VerifyValues, WeightsAgreeWithExactCounts) {
    Values values(8, 3);
    const Expectation middle{.unit = 0, .first_rank = 2, .last_rank = 5, .source_unit = 1};
    const auto sum = [&](std::initializer_list<Rank> ranks, std::uint32_t unit = 1) {
        Value value = kUndefined;
        for (const Rank rank : ranks) {
            const Value leaf = values.leaf(rank, unit);
            value = value == kUndefined ? leaf : values.reduce(value, leaf);
        }
        return value;
    };
    EXPECT_TRUE(values.in_order(sum({2, 3, 4, 5}), middle));
    EXPECT_FALSE(values.in_order(sum({2, 4, 3, 5}), middle));
    EXPECT_EQ(sum({2, 3, 4}), sum({2, 3, 4}));
    EXPECT_NE(sum({2, 3, 4}), sum({3, 2, 4}));
    for (const auto& [value, good] :
         {std::pair(sum({2, 3, 4, 5}), true), std::pair(sum({5, 2, 4, 3}), true),
          std::pair(sum({2, 3, 4}), false), std::pair(sum({2, 3, 4, 5, 5}), false),
          std::pair(sum({2, 3, 4, 4}), false), std::pair(sum({1, 3, 4, 5}), false),
          std::pair(sum({2, 3, 4, 5}, 0), false)}) {
        EXPECT_EQ(values.each_once(value, middle), good);
        EXPECT_EQ(values.each_once_by_weight(value, middle), good);
    }
}

TEST(VerifyValues, TreesWithSharedBranchesAreCountedWithoutExpansion) {
    Values values(2, 1);
    Value value = values.leaf(0, 0);
    for (int i = 0; i < 200; ++i) value = values.reduce(value, value);  // 2^200 leaves
    EXPECT_FALSE(values.each_once(value, {.first_rank = 0, .last_rank = 1}));
}

TEST(VerifyLocalized, SharedPutsBecomePublishedCells) {
    const Contract contract = test::allreduce_contract();
    for (const Rank per_node : {9, 3, 1}) {
        std::vector<Program> programs = test::all_to_all_reduce(9);
        for (Program& program : programs)
            program = localize(
                program, [&](Rank peer) { return peer / per_node == program.rank / per_node; });
        const Verdict verdict = verify({.programs = programs, .contract = &contract});
        EXPECT_TRUE(verdict.valid) << verdict.error;
        EXPECT_TRUE(verdict.ordered && verdict.bit_identical && verdict.synchronizing);
        const std::uint64_t published = per_node > 1 ? 1 : 0;  // one for all local peers
        EXPECT_EQ(verdict.messages, 9 * (published + static_cast<std::uint64_t>(9 - per_node)));
    }
}

}  // namespace
}  // namespace weft::plan
