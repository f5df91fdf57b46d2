// SPDX-License-Identifier: BSD-3-Clause
// Goal: the oracle accepts only the right result of every collective.
// Method: the last of three ranks makes calls whose results this file computes from the inputs,
// also for blocks of different sizes. Then one byte of the output, of the input, or of a gap
// between blocks is changed.
#include "tools/lab/oracle/oracle.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/trial.hpp"

namespace weft::test {
namespace {

using oracle::CallFacts;
using Values = std::vector<std::int64_t>;

constexpr Rank kSize = 3;
constexpr Rank kRoot = 1;
constexpr std::size_t kCount = 2;  ///< elements of a block; v-collectives have 1, 2 and 3

CallFacts facts_of(Collective collective, const oracle::Samples& samples, Op op) {
    const collectives::CollectiveTraits& traits = collectives::traits_of(collective);
    return {.collective = collective,
            .samples = &samples,
            .op = op,
            .size = kSize,
            .root = traits.rooted() ? kRoot : -1,
            .count = [counts = traits.has_counts()](Rank, std::uint32_t unit) {
                return std::uint64_t{counts ? unit + 1 : kCount};
            }};
}

const oracle::Samples& int64_samples() {
    return oracle::samples_of(Type::int64);
}

/// Returns a block of a rank's input in batch 5, which most tests use. `unit`: index of the block.
Values inputs(Rank rank, std::uint32_t unit, std::size_t count) {
    Values values(count);
    int64_samples().write(reinterpret_cast<std::byte*>(values.data()),
                          {.rank = rank, .unit = unit, .count = count, .batch = 5});
    return values;
}
/// Returns the sum of the inputs of ranks `first` to `last`.
Values sums(Rank first, Rank last, std::uint32_t unit, std::size_t count) {
    Values total(count);
    for (Rank rank = first; rank <= last; ++rank) {
        const Values more = inputs(rank, unit, count);
        for (std::size_t i = 0; i < count; ++i)
            total[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(total[i]) +
                                                 static_cast<std::uint64_t>(more[i]));
    }
    return total;
}
Values joined(std::initializer_list<Values> parts) {
    Values all;
    for (const Values& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

/// Returns the result of rank 2 of three; empty if only the root has a result.
Values result_at_last_rank(Collective collective) {
    const Rank me = kSize - 1;
    switch (collective) {
        case Collective::broadcast:
            return inputs(kRoot, 0, kCount);
        case Collective::allreduce:
        case Collective::scan:
            return sums(0, me, 0, kCount);
        case Collective::exscan:
            return sums(0, me - 1, 0, kCount);
        case Collective::scatter:
            return inputs(kRoot, 2, kCount);
        case Collective::allgather:
            return joined({inputs(0, 0, kCount), inputs(1, 1, kCount), inputs(2, 2, kCount)});
        case Collective::alltoall:
            return joined({inputs(0, 2, kCount), inputs(1, 2, kCount), inputs(2, 2, kCount)});
        case Collective::reduce_scatter:
            return sums(0, me, 2, kCount);
        case Collective::scatterv:
            return inputs(kRoot, 2, 3);
        case Collective::allgatherv:
            return joined({inputs(0, 0, 1), inputs(1, 1, 2), inputs(2, 2, 3)});
        case Collective::alltoallv:
            return joined({inputs(0, 2, 3), inputs(1, 2, 3), inputs(2, 2, 3)});
        case Collective::reduce_scatterv:
            return sums(0, me, 2, 3);
        default:
            return {};
    }
}

class OracleTest : public testing::TestWithParam<collectives::CollectiveTraits> {};

TEST_P(OracleTest, RightResultsAreAccepted) {
    const Collective collective = GetParam().collective;
    Trial trial(facts_of(collective, int64_samples(), Op::sum), kSize - 1, {});
    trial.prepare(5);
    const Values result = result_at_last_rank(collective);
    const Call call = trial.call();
    if (!result.empty()) {
        EXPECT_NE(trial.check(), "") << "the output is not written yet";
        std::memcpy(call.out, result.data(), result.size() * sizeof result[0]);
    }
    EXPECT_EQ(trial.check(), "");
}

TEST_P(OracleTest, ChangedBytesOfOutputGuardsAndInputAreDetected) {
    const Collective collective = GetParam().collective;
    const Values result = result_at_last_rank(collective);
    if (result.empty()) return;
    Trial trial(facts_of(collective, int64_samples(), Op::sum), kSize - 1, {.shift = 1});
    trial.prepare(5);
    const Call call = trial.call();
    std::memcpy(call.out, result.data(), result.size() * sizeof result[0]);
    ASSERT_EQ(trial.check(), "");
    auto* const out = static_cast<std::byte*>(call.out);
    auto* const in = static_cast<std::byte*>(const_cast<void*>(call.in));
    const auto bytes = static_cast<std::ptrdiff_t>(result.size() * sizeof result[0]);
    for (std::byte* const at : {out - 1, out, out + bytes - 1, out + bytes, in}) {
        if (at == nullptr) continue;  // the collective has no input at this rank
        *at ^= std::byte{1};
        EXPECT_NE(trial.check(), "") << "byte " << at - out << " from the output's start";
        *at ^= std::byte{1};
        trial.prepare(5);
        std::memcpy(call.out, result.data(), result.size() * sizeof result[0]);
        EXPECT_EQ(trial.check(), "");
    }
}

// All collectives but the first, the barrier, which has no result.
INSTANTIATE_TEST_SUITE_P(Collectives, OracleTest,
                         testing::ValuesIn(collectives::kCollectives.begin() + 1,
                                           collectives::kCollectives.end()),
                         [](const auto& chosen) { return std::string(chosen.param.name); });

TEST(OracleTest, OnlyTheRootHasAResult) {
    for (const Collective collective :
         {Collective::reduce, Collective::gather, Collective::gatherv}) {
        const CallFacts facts = facts_of(collective, int64_samples(), Op::sum);
        EXPECT_TRUE(oracle::Oracle(facts, 2).output().empty());
        const oracle::Oracle root(facts, kRoot);
        const Values last_block = collective == Collective::reduce   ? sums(0, 2, 0, kCount)
                                  : collective == Collective::gather ? inputs(2, 2, kCount)
                                                                     : inputs(2, 2, 3);
        const std::size_t last = root.output().size() - 1;
        EXPECT_TRUE(
            root.is_expected(last, 5, reinterpret_cast<const std::byte*>(last_block.data())));
        EXPECT_EQ(last, collective == Collective::reduce ? 0U : 2U);
    }
}

TEST(OracleTest, ExscanHasNoResultAtRankZero) {
    EXPECT_TRUE(
        oracle::Oracle(facts_of(Collective::exscan, int64_samples(), Op::sum), 0).output().empty());
}

TEST(OracleTest, AResultOutOfRankOrderIsRefused) {
    const oracle::Samples& samples = oracle::affine_samples();
    Trial trial(facts_of(Collective::allreduce, samples, Op::user), 0, {});
    trial.prepare(1);
    const auto operand = [&](Rank rank) {
        std::vector<std::byte> bytes(kCount * samples.bytes);
        samples.write(bytes.data(), {.rank = rank, .count = kCount, .batch = 1});
        return bytes;
    };
    const Call call = trial.call();
    for (const bool ordered : {true, false}) {
        auto first_two = operand(ordered ? 0 : 1);
        samples.fold(Op::user, first_two.data(), operand(ordered ? 1 : 0).data(), kCount);
        auto result = operand(2);
        samples.combine(first_two.data(), result.data(), kCount, nullptr);
        std::memcpy(call.out, result.data(), result.size());
        EXPECT_EQ(trial.check() == "", ordered);
    }
}

TEST(OracleTest, AChangedGapBetweenBlocksIsDetected) {
    for (const Spacing spacing : {Spacing::gaps, Spacing::backwards}) {
        Trial trial(facts_of(Collective::allgatherv, int64_samples(), Op::sum), 0,
                    {.in_place = true, .out_spacing = spacing});
        trial.prepare(5);
        const Call call = trial.call();
        ASSERT_EQ(call.out_blocks.displacements.size(), 3U);
        auto* const out = static_cast<std::int64_t*>(call.out);
        for (std::uint32_t unit = 0; unit < 3; ++unit) {
            const Values block = inputs(static_cast<Rank>(unit), unit, unit + 1);
            std::ranges::copy(block, out + call.out_blocks.displacements[unit]);
        }
        EXPECT_EQ(trial.check(), "");
        out[0] = 7;  // the first block begins after a gap
        EXPECT_NE(trial.check(), "");
        trial.invalidate_arrays();
        EXPECT_GT(call.out_blocks.counts[0], 1000U) << "a call that read the array would fail";
    }
}

}  // namespace
}  // namespace weft::test
