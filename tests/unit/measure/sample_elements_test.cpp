// SPDX-License-Identifier: BSD-3-Clause
// Goal: elements to measure with tell a wrong result from a right one, for every type. Method: inputs of
// several ranks, folded in both directions; one changed element; spoilt padding.
#include "lab/measure/sample_elements.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/element_types.hpp"

namespace weft::lab {
namespace {

constexpr std::size_t kCount = 50;

std::vector<std::byte> inputs(const SampleElements& elements, Rank rank, std::uint64_t batch) {
    std::vector<std::byte> bytes(kCount * elements.bytes);
    elements.write(bytes.data(), {rank, 0, kCount, batch});
    return bytes;
}

Op an_operation_of(Type type) {
    if (type >= Type::float_int) return Op::minloc;
    return type == Type::boolean ? Op::lxor : Op::prod;
}

TEST(SampleElements, DifferByRankAndBatchAndTellAChangedElement) {
    for (int i = 0; i < kBuiltinTypes; ++i) {
        const SampleElements& elements = sample_elements(static_cast<Type>(i));
        SCOPED_TRACE(base::name_of(elements.type));
        EXPECT_EQ(elements.bytes, base::size_of(elements.type));
        const auto mine = inputs(elements, 3, 7);
        EXPECT_TRUE(elements.equal(mine.data(), inputs(elements, 3, 7).data(), kCount));
        EXPECT_FALSE(elements.equal(mine.data(), inputs(elements, 4, 7).data(), kCount));
        EXPECT_FALSE(elements.equal(mine.data(), inputs(elements, 3, 8).data(), kCount));
        auto changed = mine;
        changed[(kCount - 1) * elements.bytes] ^= std::byte{1};
        EXPECT_FALSE(elements.equal(mine.data(), changed.data(), kCount));
        EXPECT_TRUE(elements.equal(mine.data(), changed.data(), kCount - 1));
    }
}

TEST(SampleElements, AreTheSameInAnyRange) {
    for (int i = 0; i < kBuiltinTypes; ++i) {
        const SampleElements& elements = sample_elements(static_cast<Type>(i));
        const auto all = inputs(elements, 2, 1);
        std::vector<std::byte> part(10 * elements.bytes);
        elements.write(part.data(), {2, 20, 10, 1});
        EXPECT_TRUE(elements.equal(part.data(), all.data() + 20 * elements.bytes, 10));
    }
}

TEST(SampleElements, FoldToTheSameInAnyOrder) {
    for (int i = 0; i < kBuiltinTypes; ++i) {
        const SampleElements& elements = sample_elements(static_cast<Type>(i));
        SCOPED_TRACE(base::name_of(elements.type));
        const Op op = an_operation_of(elements.type);
        auto forward = inputs(elements, 0, 1);
        auto backward = inputs(elements, 8, 1);
        for (Rank rank = 1; rank <= 8; ++rank) {
            elements.fold(op, forward.data(), inputs(elements, rank, 1).data(), kCount);
            elements.fold(op, backward.data(), inputs(elements, 8 - rank, 1).data(), kCount);
        }
        EXPECT_TRUE(elements.equal(forward.data(), backward.data(), kCount));
        EXPECT_FALSE(elements.equal(forward.data(), inputs(elements, 0, 1).data(), kCount));
    }
}

/// Types whose products neither wrap nor run out of range.
bool is_wide_floating(Type type) {
    return type >= Type::float32 && type <= Type::cdouble;
}

TEST(SampleElements, ProductsOfThousandsOfRanksAreExact) {
    int tried = 0;
    for (int i = 0; i < kBuiltinTypes; ++i) {
        const SampleElements& elements = sample_elements(static_cast<Type>(i));
        if (!is_wide_floating(elements.type)) continue;
        SCOPED_TRACE(base::name_of(elements.type));
        ++tried;
        constexpr Rank kRanks = 4097;
        auto forward = inputs(elements, 0, 1);
        auto backward = inputs(elements, kRanks - 1, 1);
        auto without_one = inputs(elements, 0, 1);
        for (Rank rank = 1; rank < kRanks; ++rank) {
            const auto next = inputs(elements, rank, 1);
            elements.fold(Op::prod, forward.data(), next.data(), kCount);
            if (rank != 2048) elements.fold(Op::prod, without_one.data(), next.data(), kCount);
            elements.fold(Op::prod, backward.data(), inputs(elements, kRanks - 1 - rank, 1).data(),
                          kCount);
        }
        EXPECT_TRUE(elements.equal(forward.data(), backward.data(), kCount));
        EXPECT_FALSE(elements.equal(forward.data(), without_one.data(), kCount));
        // It has not run out of range.
        auto doubled = forward;
        elements.fold(Op::prod, doubled.data(), inputs(elements, 1, 1).data(), kCount);
        EXPECT_FALSE(elements.equal(forward.data(), doubled.data(), kCount));
    }
    EXPECT_EQ(tried, 5);
}

TEST(SampleElements, PaddingDoesNotCount) {
    const SampleElements& elements = sample_elements(Type::double_int);
    auto left = inputs(elements, 1, 1);
    auto right = left;
    right[13] = std::byte{0x77};
    EXPECT_TRUE(elements.equal(left.data(), right.data(), kCount));
}

}  // namespace
}  // namespace weft::lab
