// SPDX-License-Identifier: BSD-3-Clause
// Goal: the pruned search finds the cheapest schedule.
// Method: the search is compared with an enumeration of all schedules of up to 150 ranks, for
// several ratios of latency to message cost. Some sizes are compared with known optima.
#include "collectives/notation/optimum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace weft::collectives {
namespace {

/// Costs of Archer, the machine of Ruefenacht et al., in nanoseconds.
constexpr StageCost kArcher{.latency = 1340, .message = 340};

std::int64_t cheapest(Rank size, ScheduleFamily family, const StageCost& cost) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for_each_schedule(size, family, [&](const Schedule& schedule) {
        least = std::min(least, cost_of(schedule, cost));
        return true;
    });
    return least;
}

TEST(Optimum, TheSearchReturnsTheCheapestOfAllSchedules) {
    for (const StageCost& cost : {kArcher, StageCost{1000, 1000}, StageCost{1000, 100},
                                  StageCost{0, 10}, StageCost{100, 0}}) {
        const OptimumSearch search(150, cost);
        for (Rank size = 2; size <= 150; ++size) {
            const Optimum optimum = search.find(size);
            const std::int64_t factored = cheapest(size, ScheduleFamily::factored, cost);
            const std::int64_t least =
                std::min({factored, cheapest(size, ScheduleFamily::split, cost),
                          cheapest(size, ScheduleFamily::merged, cost)});
            ASSERT_EQ(optimum.factored, factored) << size;
            ASSERT_EQ(optimum.cost, least) << size << ' ' << print(optimum.schedule);
            ASSERT_EQ(cost_of(optimum.schedule, cost), least) << print(optimum.schedule);
            ASSERT_TRUE(validate(optimum.schedule, size).ok()) << print(optimum.schedule);
        }
    }
}

// A cover is a list of factors whose product is at least the number of ranks.
TEST(Optimum, CoversCostNoMoreThanSchedules) {
    for (const StageCost& cost : {kArcher, StageCost{1000, 1000}, StageCost{1000, 100}}) {
        const OptimumSearch search(150, cost);
        for (Rank size = 1; size <= 150; ++size) {
            std::int64_t product = 1;
            std::int64_t sum = 0;
            for (const Rank factor : cheapest_cover(size, cost)) {
                product *= factor;
                sum += cost.latency + (factor - 1) * cost.message;
            }
            EXPECT_GE(product, size);
            EXPECT_LE(sum, search.find(size).cost) << size;
        }
    }
}

TEST(Optimum, MergesAreTheOptimumForPrimeSizes) {
    const OptimumSearch search(65537, kArcher);
    const auto expect = [&](Rank size, std::optional<std::int64_t> factored, std::int64_t merged) {
        const Optimum optimum = search.find(size);
        EXPECT_EQ(optimum.cost, merged) << size;
        EXPECT_EQ(optimum.merged.value_or(0), merged) << size;
        EXPECT_EQ(optimum.factored, factored.value_or(optimum.factored)) << size;
    };
    expect(11, 4740, 4720);
    expect(13, 5420, 5060);
    expect(17, 6780, 5400);
    expect(31, 11540, 6420);
    expect(97, 33980, 8100);
    expect(127, 44180, 8780);
    expect(65537, std::nullopt, 19240);
}

TEST(Optimum, TheCheapestSplitHasTheExpectedCost) {
    const auto split = [](Rank size) { return cheapest(size, ScheduleFamily::split, kArcher); };
    EXPECT_EQ(split(17), 6740);
    EXPECT_EQ(split(31), 7760);
    EXPECT_EQ(split(97), 9440);
    EXPECT_EQ(split(127), 10440);
}

TEST(Optimum, AMillionRanksCanBeSearched) {
    const OptimumSearch search(1'000'000, kArcher);
    for (const Rank size : {999'983, 1'000'000, 524'288}) {
        const Optimum optimum = search.find(size);
        EXPECT_TRUE(validate(optimum.schedule, size).ok());
        EXPECT_EQ(cost_of(optimum.schedule, kArcher), optimum.cost);
        EXPECT_LE(optimum.cost, optimum.factored);
    }
    const OptimumSearch ratio_of_four(999'983, {1000, 250});
    EXPECT_EQ(ratio_of_four.find(999'983).cost, 9 * 1000 + 34 * 250);  // 9 stages, 34 messages
}

}  // namespace
}  // namespace weft::collectives
