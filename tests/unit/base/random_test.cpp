// SPDX-License-Identifier: BSD-3-Clause
// Goal: draws depend only on the seed and are uniform, and streams differ.
// Method: tests repeat draws, and count results within bounds of more than six standard deviations.
#include "base/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <vector>

namespace weft::base {
namespace {

static_assert(std::uniform_random_bit_generator<Random>);

std::vector<std::uint64_t> draws(Random random, int count) {
    std::vector<std::uint64_t> values;
    for (int i = 0; i < count; ++i) values.push_back(random());
    return values;
}

TEST(Random, EqualSeedsGiveEqualDrawsAndOthersDiffer) {
    EXPECT_EQ(draws(Random(7), 100), draws(Random(7), 100));
    std::set<std::uint64_t> seen;
    for (std::uint64_t seed = 0; seed < 100; ++seed)
        for (const std::uint64_t word : draws(Random(seed), 100)) seen.insert(word);
    EXPECT_EQ(seen.size(), 10'000U) << "neighboring seeds must share no draws";
}

TEST(Random, StreamsDependOnTheirNumberAndNotOnEarlierDraws) {
    Random random(7);
    const auto before = draws(random.stream(3), 10);
    (void)random();
    EXPECT_EQ(draws(random.stream(3), 10), before);
    EXPECT_NE(draws(random.stream(4), 10), before);
    EXPECT_NE(draws(Random(8).stream(3), 10), before);
}

TEST(Random, EveryBitIsSetHalfTheTime) {
    std::array<int, 64> ones{};
    Random random(1);
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t word = random();
        for (unsigned bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>(word >> bit & 1);
    }
    for (unsigned bit = 0; bit < 64; ++bit) EXPECT_NEAR(ones[bit], 5000, 350) << "bit " << bit;
}

TEST(Random, BelowIsWithinItsBoundAndUniform) {
    Random random(2);
    std::array<int, 7> seen{};
    for (int i = 0; i < 70'000; ++i) ++seen.at(random.below(7));
    for (const int count : seen) EXPECT_NEAR(count, 10'000, 600);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0U);
    // The bound is 3/4 of 2^64: plain remainders would be below bound / 3 half the time.
    const std::uint64_t bound = (std::uint64_t{3} << 62);
    int low = 0;
    for (int i = 0; i < 30'000; ++i) low += random.below(bound) < bound / 3 ? 1 : 0;
    EXPECT_NEAR(low, 10'000, 500);
}

TEST(Random, UnitAndChanceHaveTheExpectedMeans) {
    Random random(3);
    double sum = 0;
    int hits = 0;
    for (int i = 0; i < 10'000; ++i) {
        const double value = random.unit();
        ASSERT_GE(value, 0.0);
        ASSERT_LT(value, 1.0);
        sum += value;
        hits += random.chance(1, 4) ? 1 : 0;
    }
    EXPECT_NEAR(sum, 5000.0, 180.0);
    EXPECT_NEAR(hits, 2500, 260);
}

TEST(Random, SystemEntropyDiffersBetweenCalls) {
    const auto first = system_entropy();
    const auto second = system_entropy();
    ASSERT_TRUE(first.ok());
    ASSERT_TRUE(second.ok());
    EXPECT_NE(*first, *second);
}

}  // namespace
}  // namespace weft::base
