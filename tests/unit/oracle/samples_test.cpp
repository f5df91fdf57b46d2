// SPDX-License-Identifier: BSD-3-Clause
// Goal: with samples as inputs, every wrong result differs from the right result, for every type.
// Method: inputs of several ranks are folded in both directions; one element or the padding is
// changed.
#include "tools/lab/oracle/samples.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/element_types.hpp"

namespace weft::oracle {
namespace {

constexpr std::size_t kCount = 50;

std::vector<std::byte> inputs(const Samples& samples, Rank rank, std::uint64_t batch) {
    std::vector<std::byte> bytes(kCount * samples.bytes);
    samples.write(bytes.data(), {.rank = rank, .count = kCount, .batch = batch});
    return bytes;
}

/// Returns an operation that is defined for the type.
Op an_operation_of(Type type) {
    if (type >= Type::float_int) return Op::minloc;
    return type == Type::boolean ? Op::lxor : Op::prod;
}

TEST(SamplesTest, SamplesDifferByRankUnitAndBatch) {
    for (int i = 0; i < kBuiltinTypes; ++i) {
        const Samples& samples = samples_of(static_cast<Type>(i));
        SCOPED_TRACE(base::name_of(samples.type));
        EXPECT_EQ(samples.bytes, base::size_of(samples.type));
        const auto mine = inputs(samples, 3, 7);
        EXPECT_TRUE(samples.equal(mine.data(), inputs(samples, 3, 7).data(), kCount));
        EXPECT_FALSE(samples.equal(mine.data(), inputs(samples, 4, 7).data(), kCount));
        EXPECT_FALSE(samples.equal(mine.data(), inputs(samples, 3, 8).data(), kCount));
        std::vector<std::byte> other_unit(mine.size());
        samples.write(other_unit.data(), {.rank = 3, .unit = 1, .count = kCount, .batch = 7});
        EXPECT_FALSE(samples.equal(mine.data(), other_unit.data(), kCount));
        auto changed = mine;
        changed[(kCount - 1) * samples.bytes] ^= std::byte{1};
        EXPECT_FALSE(samples.equal(mine.data(), changed.data(), kCount));
        EXPECT_TRUE(samples.equal(mine.data(), changed.data(), kCount - 1));
    }
}

TEST(SamplesTest, ARangeEqualsThatRangeOfAllSamples) {
    for (int i = 0; i < kBuiltinTypes; ++i) {
        const Samples& samples = samples_of(static_cast<Type>(i));
        const auto all = inputs(samples, 2, 1);
        std::vector<std::byte> part(10 * samples.bytes);
        samples.write(part.data(), {.rank = 2, .first = 20, .count = 10, .batch = 1});
        EXPECT_TRUE(samples.equal(part.data(), all.data() + 20 * samples.bytes, 10));
    }
}

TEST(SamplesTest, AnyOrderOfFoldingGivesTheSameResult) {
    for (int i = 0; i < kBuiltinTypes; ++i) {
        const Samples& samples = samples_of(static_cast<Type>(i));
        SCOPED_TRACE(base::name_of(samples.type));
        const Op op = an_operation_of(samples.type);
        auto forward = inputs(samples, 0, 1);
        auto backward = inputs(samples, 8, 1);
        for (Rank rank = 1; rank <= 8; ++rank) {
            samples.fold(op, forward.data(), inputs(samples, rank, 1).data(), kCount);
            samples.fold(op, backward.data(), inputs(samples, 8 - rank, 1).data(), kCount);
        }
        EXPECT_TRUE(samples.equal(forward.data(), backward.data(), kCount));
        EXPECT_FALSE(samples.equal(forward.data(), inputs(samples, 0, 1).data(), kCount));
    }
}

/// Returns true for floating types in which products of thousands of samples do not overflow.
bool is_wide_floating(Type type) {
    return type >= Type::float32 && type <= Type::cdouble;
}

TEST(SamplesTest, ProductsOfThousandsOfRanksAreExact) {
    int types = 0;
    for (int i = 0; i < kBuiltinTypes; ++i) {
        const Samples& samples = samples_of(static_cast<Type>(i));
        if (!is_wide_floating(samples.type)) continue;
        SCOPED_TRACE(base::name_of(samples.type));
        ++types;
        constexpr Rank kRanks = 4097;
        auto forward = inputs(samples, 0, 1);
        auto backward = inputs(samples, kRanks - 1, 1);
        auto without_one = inputs(samples, 0, 1);
        for (Rank rank = 1; rank < kRanks; ++rank) {
            const auto next = inputs(samples, rank, 1);
            samples.fold(Op::prod, forward.data(), next.data(), kCount);
            if (rank != 2048) samples.fold(Op::prod, without_one.data(), next.data(), kCount);
            samples.fold(Op::prod, backward.data(), inputs(samples, kRanks - 1 - rank, 1).data(),
                         kCount);
        }
        EXPECT_TRUE(samples.equal(forward.data(), backward.data(), kCount));
        EXPECT_FALSE(samples.equal(forward.data(), without_one.data(), kCount));
        // An overflowed product would be infinite: another factor would not change it.
        auto with_another = forward;
        samples.fold(Op::prod, with_another.data(), inputs(samples, 1, 1).data(), kCount);
        EXPECT_FALSE(samples.equal(forward.data(), with_another.data(), kCount));
    }
    EXPECT_EQ(types, 5);
}

TEST(SamplesTest, PaddingIsIgnored) {
    const Samples& samples = samples_of(Type::double_int);
    auto left = inputs(samples, 1, 1);
    auto right = left;
    right[13] = std::byte{0x77};  // a double and an int take 12 of 16 bytes
    EXPECT_TRUE(samples.equal(left.data(), right.data(), kCount));
}

}  // namespace
}  // namespace weft::oracle
