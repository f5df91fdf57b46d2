// SPDX-License-Identifier: BSD-3-Clause
// Goal: invalid counts and displacements of a call are refused. Calls keep copies of the arrays,
// which are compared by value. Plans for calls with counts are found again, and evicted when
// unused.
// Method: tests use calls with few elements, and a cache of plans without a job.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "plan/schedule/step.hpp"
#include "run/team/call.hpp"
#include "run/team/plan_cache.hpp"

namespace weft::run {
namespace {

using Words = std::vector<std::size_t>;

TEST(Blocks, BlocksWithEqualContentsAreEqual) {
    const Words counts{3, 0, 5};
    const Words copy = counts;
    const Words displacements{0, 9, 3};
    EXPECT_TRUE(equal({.counts = counts}, {.counts = copy}));
    EXPECT_TRUE(equal({}, {}));
    EXPECT_FALSE(equal({}, {.counts = counts}));
    EXPECT_FALSE(equal({.counts = counts}, {.counts = counts, .displacements = displacements}));
}

TEST(Blocks, CallsWithOwnArraysKeepTheirCounts) {
    Words counts{1, 2};
    Words displacements{7, 4};
    const Call call =
        with_own_arrays({.collective = Collective::alltoallv,
                         .in_blocks = {.counts = counts},
                         .out_blocks = {.counts = counts, .displacements = displacements}});
    counts.assign(2, 99);
    displacements.assign(2, 99);
    EXPECT_TRUE(std::ranges::equal(call.in_blocks.counts, Words{1, 2}));
    EXPECT_TRUE(call.in_blocks.displacements.empty());
    EXPECT_TRUE(std::ranges::equal(call.out_blocks.displacements, Words{7, 4}));
}

std::string refusal(const Blocks& blocks, Rank size) {
    const auto checked = check_blocks(blocks, "in", size, 8);
    return checked ? "" : checked.failure().text;
}

TEST(Blocks, InvalidCountsAreRefused) {
    const Words counts{1, 2};
    EXPECT_EQ(refusal({.counts = counts}, 2), "");
    EXPECT_EQ(refusal({.counts = counts}, 3),
              "in: 2 counts given, expected one for each of 3 ranks");
    const Words one{0};
    EXPECT_EQ(refusal({.counts = counts, .displacements = one}, 2),
              "in: 1 displacements given, expected none or one for each of 2 ranks");
    const Words large{1, std::size_t{1} << 60};
    EXPECT_EQ(refusal({.counts = large}, 2),
              "in: 1152921504606846976 elements of 8 bytes for rank 1, at 1, overflow 63 bits");
    const Words large_sum{std::size_t{3} << 58, std::size_t{3} << 58};  // 3 * 2^62 bytes in total
    EXPECT_NE(refusal({.counts = large_sum}, 2), "");
    const Words largest{0, std::numeric_limits<std::size_t>::max()};
    EXPECT_NE(refusal({.counts = counts, .displacements = largest}, 2), "");
}

TEST(Blocks, ExtentsAreSortedAndMerged) {
    const Words counts{2, 0, 3, 1};  // elements of 4 bytes
    const Words adjacent{5, 5, 2, 10};
    const auto extents =
        extents_of({.counts = counts, .displacements = adjacent}, "out", 4, /*may_overlap=*/false);
    ASSERT_TRUE(extents.ok());
    ASSERT_EQ(extents->size(), 2U);
    EXPECT_EQ((*extents)[0].offset, 8U);
    EXPECT_EQ((*extents)[0].bytes, 20U);
    EXPECT_EQ((*extents)[1].offset, 40U);
    const Words overlapping{5, 5, 3, 10};
    const auto refused = extents_of({.counts = counts, .displacements = overlapping}, "out", 4,
                                    /*may_overlap=*/false);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.failure().text,
              "out: the blocks of ranks 2 and 0 overlap: both hold element 5");
    EXPECT_TRUE(extents_of({.counts = counts, .displacements = overlapping}, "in", 4,
                           /*may_overlap=*/true)
                    .ok());
}

TEST(Blocks, OverlapsBetweenBlocksAreDetected) {
    std::array<std::byte, 64> memory{};
    const std::byte* const at = memory.data();
    // An extent has an offset and a size.
    EXPECT_FALSE(overlap(at, {{0, 4}, {8, 4}}, at, {{4, 4}, {12, 4}}));
    EXPECT_TRUE(overlap(at, {{0, 4}, {8, 4}}, at, {{4, 5}}));
    EXPECT_TRUE(overlap(at + 8, {{0, 4}}, at, {{0, 1}, {11, 1}}));
    EXPECT_FALSE(overlap(at, {}, at, {{0, 64}}));
}

TEST(Blocks, ManyCountsArePrintedAsTheFirstAndADigest) {
    EXPECT_EQ(to_text(Words{3, 0, 5}), "3,0,5");
    Words many(20, 1);
    const std::string text = to_text(many);
    EXPECT_EQ(text.rfind("1,1,1,1,1,1,1,1,... (20 counts, sum 20, digest ", 0), 0U) << text;
    many.back() = 2;
    many.front() = 0;
    EXPECT_NE(to_text(many), text);
}

PlanCache cache_of(Rank rank, Rank size, bool direct = false) {
    PlanContext context;
    context.rank = rank;
    context.size = size;
    context.layout = plan::Layout(size, size);
    context.machine = machine_over("");
    context.machine.direct = direct;
    context.near.assign(static_cast<std::size_t>(size), true);
    context.region = {.cells = 64, .banks = 8, .bulk_banks = 4, .bulk_bytes = 1 << 16};
    return {std::move(context), *select_isa(""), {}};
}

TEST(PlansWithCounts, PlansAreFoundByTheirCounts) {
    PlanCache cache = cache_of(1, 3);
    Words counts{4, 5, 6};
    const Call call{.collective = Collective::allgatherv, .out_blocks = {.counts = counts}};
    const auto first = cache.find_or_make(call);
    ASSERT_TRUE(first.ok()) << first.failure().text;
    EXPECT_EQ((*first)->input.bytes, 40U);
    EXPECT_EQ((*first)->output.bytes, 120U);
    counts[2] = 7;
    const auto second = cache.find_or_make(call);
    ASSERT_TRUE(second.ok());
    EXPECT_NE(*first, *second);
    EXPECT_NE((*first)->program.call_hash, (*second)->program.call_hash);
    counts[2] = 6;
    EXPECT_EQ(*cache.find_or_make(call), *first);
}

TEST(PlansWithCounts, UnusedPlansAreEvicted) {
    PlanCache cache = cache_of(0, 2);
    Words counts{1, 1};
    const Call call{.collective = Collective::reduce_scatterv, .in_blocks = {.counts = counts}};
    for (Epoch epoch = 0; !cache.is_full(); ++epoch) {
        ASSERT_LT(epoch, 5000);
        counts[1] = static_cast<std::size_t>(epoch);
        const auto plan = cache.find_or_make(call);
        ASSERT_TRUE(plan.ok()) << plan.failure().text;
        (*plan)->used = epoch;
    }
    counts[1] = 40;
    const Plan* const kept = *cache.find_or_make(call);
    cache.retire(40);  // drops plans last used before epoch 40
    EXPECT_FALSE(cache.is_full());
    EXPECT_EQ(*cache.find_or_make(call), kept);
    cache.retire(1000);
    EXPECT_TRUE(cache.find_or_make(call).ok());
}

TEST(Plans, LeastRecentlyUsedPlansAreEvicted) {
    PlanCache cache = cache_of(0, 2);
    std::size_t count = 0;
    const auto call = [](std::size_t elements) {
        return Call::allreduce(nullptr, nullptr, elements, Type::int32, Op::sum);
    };
    for (; !cache.is_full(); ++count) {
        const auto plan = cache.find_or_make(call(count));
        ASSERT_TRUE(plan.ok()) << plan.failure().text;
        (*plan)->used = static_cast<Epoch>(count);
    }
    const Plan* const latest = *cache.find_or_make(call(count - 1));
    const std::size_t before = cache.size();
    EXPECT_GT(before, 100U);
    cache.retire(static_cast<Epoch>(count));
    EXPECT_NEAR(static_cast<double>(cache.size()), static_cast<double>(before) / 2, 2);
    EXPECT_EQ(*cache.find_or_make(call(count - 1)), latest) << "a recently used plan must be kept";
    cache.retire(0);
    EXPECT_FALSE(cache.is_full()) << "if all plans are in use, the cache may exceed its limit";
}

TEST(PlansWithCounts, RanksWithDifferentCountsMakeMatchingAlltoallvPlans) {
    const Words sent{3, 0, 9};      // rank 1 sends 3 elements to rank 0
    const Words received{0, 0, 1};  // on both ranks; rank 0 expects no element of rank 1
    PlanCache cache_of_1 = cache_of(1, 3);
    PlanCache cache_of_0 = cache_of(0, 3);
    const auto plan_of_1 = cache_of_1.find_or_make(
        Call::alltoallv(nullptr, {sent}, nullptr, {received}, Type::float64));
    const auto plan_of_0 = cache_of_0.find_or_make(
        Call::alltoallv(nullptr, {received}, nullptr, {received}, Type::float64));
    ASSERT_TRUE(plan_of_1.ok()) << plan_of_1.failure().text;
    ASSERT_TRUE(plan_of_0.ok()) << plan_of_0.failure().text;
    const BoundProgram& one = (*plan_of_1)->program;
    const BoundProgram& zero = (*plan_of_0)->program;
    EXPECT_EQ(one.call_hash, zero.call_hash);
    EXPECT_EQ(one.segments, zero.segments);
    EXPECT_EQ(one.slot_bytes, zero.slot_bytes);
    EXPECT_TRUE(one.bulk && zero.bulk);
    EXPECT_FALSE(one.synchronizing);
    ASSERT_EQ(one.pairs.size(), 2U);
    EXPECT_EQ(one.pairs[0].sends, 3U);
}

TEST(PlansWithCounts, LongMessagesAreReadInPlaceByLocalPeers) {
    const Words counts{10, 20'000, 10, 20'000};  // rank 3 sends and receives these
    const auto exposes = [&](bool direct) {
        PlanCache cache = cache_of(3, 4, direct);
        const auto plan = cache.find_or_make(
            Call::alltoallv(nullptr, {counts}, nullptr, {counts}, Type::float64));
        EXPECT_TRUE(plan.ok());
        const plan::Program& program = (*plan)->program.program;
        const auto puts = std::ranges::count(program.steps, plan::StepKind::put, &plan::Step::kind);
        EXPECT_EQ(puts, direct ? 2 : 3);  // loops count once
        EXPECT_EQ((*plan)->program.pairs.size(), 3U);
        return (*plan)->program.exposes;
    };
    EXPECT_EQ(exposes(true), 1U);  // to rank 1; the message to itself is copied
    EXPECT_EQ(exposes(false), 0U);
}

TEST(PlansWithCounts, ShortMessagesHaveAFusedForm) {
    // Elements of 8 bytes: 6 fit into a cell. Rank 1 of 3 sends and receives these counts.
    const auto bound = [](const Words& counts) {
        PlanCache cache = cache_of(1, 3);
        const auto plan = cache.find_or_make(
            Call::alltoallv(nullptr, {counts}, nullptr, {counts}, Type::float64));
        EXPECT_TRUE(plan.ok());
        return (*plan)->program;
    };
    using Kinds = std::vector<FusedKind>;
    const auto kinds = [](const BoundProgram& program) {
        Kinds list;
        for (const FusedStep& step : program.fused.steps) list.push_back(step.kind);
        return list;
    };
    const BoundProgram both = bound({6, 0, 7});
    EXPECT_EQ(kinds(both),
              (Kinds{FusedKind::send, FusedKind::send, FusedKind::await, FusedKind::copy,
                     FusedKind::await, FusedKind::copy, FusedKind::end}));
    EXPECT_FALSE(both.fused.exchange);
    EXPECT_NE(both.fused.steps[0].salt, both.fused.steps[1].salt);
    EXPECT_EQ(both.fused.steps[0].salt, both.fused.steps[2].salt);
    EXPECT_EQ(both.fused.steps[0].other.move, FusedMove::cells);
    EXPECT_EQ(both.fused.steps[1].other.move, FusedMove::bulk);
    EXPECT_EQ(both.bulk_receivers, (std::vector<Rank>{2})) << "a cell needs no bulk bank";
    EXPECT_EQ(kinds(bound({0, 9, 0})), (Kinds{FusedKind::copy, FusedKind::end}));
    EXPECT_TRUE(bound({0, 0, 1'000'000}).fused.steps.empty()) << "a long message is sent in pieces";
}

TEST(PlansWithCounts, OnlyInputWithoutHolesIsRemappedForOneReader) {
    const Words counts{0, 20'000, 0, 20'000};
    const auto input = [&](std::size_t second, std::size_t first) {
        PlanCache cache = cache_of(2, 4, /*direct=*/true);
        const Words starts{0, first, 0, second};
        const auto plan =
            cache.find_or_make(Call::alltoallv(nullptr, {.counts = counts, .displacements = starts},
                                               nullptr, {counts}, Type::float64));
        EXPECT_TRUE(plan.ok());
        return (*plan)->program.touched_input;
    };
    const TouchedBuffer adjacent = input(0, 20'000);
    EXPECT_FALSE(adjacent.gaps);
    EXPECT_TRUE(adjacent.copies.read_once);
    EXPECT_EQ(adjacent.copies.count, 2U);
    EXPECT_EQ(adjacent.copies.bytes, 320'000U);
    EXPECT_TRUE(input(0, 20'001).gaps);
    const TouchedBuffer shared = input(0, 0);  // as in an allgather: both peers read one block
    EXPECT_FALSE(shared.gaps);
    EXPECT_FALSE(shared.copies.read_once);
}

TEST(PlansWithCounts, CountsOfARanksMessageToItselfMustAgree) {
    PlanCache cache = cache_of(1, 2);
    const Words sent{1, 2};
    const Words received{1, 3};
    const auto refused =
        cache.find_or_make(Call::alltoallv(nullptr, {sent}, nullptr, {received}, Type::float64));
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(
        refused.failure().text.find("rank 1 sends 2 elements to itself and expects 3 from itself"),
        std::string::npos)
        << refused.failure().text;
}

}  // namespace
}  // namespace weft::run
