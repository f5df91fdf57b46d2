// SPDX-License-Identifier: BSD-3-Clause
// Goal: medians, percentiles and histograms match their definitions.
// Method: tests compare small cases computed by hand, and count random samples.
#include "tools/measure/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"

namespace weft::lab {
namespace {

TEST(Statistics, TheMedianIsTheMiddleSampleOrTheMeanOfTwo) {
    EXPECT_DOUBLE_EQ(median(std::vector{5.0}), 5.0);
    EXPECT_DOUBLE_EQ(median(std::vector{9.0, 1.0, 5.0}), 5.0);
    EXPECT_DOUBLE_EQ(median(std::vector{4.0, 1.0, 100.0, 2.0}), 3.0);
}

TEST(Statistics, SummarizingKeepsTheOrderOfTheSamples) {
    const std::vector<double> samples{3.0, 1.0, 2.0};
    (void)summarize(samples);
    EXPECT_EQ(samples, (std::vector{3.0, 1.0, 2.0}));
}

TEST(Statistics, APercentileIsTheSmallestSampleWithThatShareAtOrBelowIt) {
    base::Random random(11);
    for (std::size_t count = 1; count < 60; ++count) {
        std::vector<double> samples;
        for (std::size_t i = 0; i < count; ++i)
            samples.push_back(static_cast<double>(random.below(20)));
        for (const double percent : {0.0, 1.0, 25.0, 50.0, 99.0, 100.0}) {
            const auto has_share_up_to = [&](double limit) {
                const auto count_up_to = std::count_if(samples.begin(), samples.end(),
                                                       [&](double x) { return x <= limit; });
                return static_cast<double>(count_up_to) * 100 >=
                       percent * static_cast<double>(count);
            };
            double expected = *std::max_element(samples.begin(), samples.end());
            for (const double x : samples)
                if (has_share_up_to(x)) expected = std::min(expected, x);
            EXPECT_EQ(percentile(samples, percent), expected)
                << percent << " % of " << count << " samples";
        }
    }
}

TEST(Statistics, TheSummaryOfAKnownSeriesIsRight) {
    std::vector<double> samples;
    for (int i = 200; i >= 1; --i) samples.push_back(i);
    const Summary summary = summarize(samples);
    EXPECT_EQ(summary.count, 200U);
    EXPECT_DOUBLE_EQ(summary.min, 1);
    EXPECT_DOUBLE_EQ(summary.median, 100.5);
    EXPECT_DOUBLE_EQ(summary.p99, 198);
    EXPECT_DOUBLE_EQ(summary.max, 200);
    EXPECT_DOUBLE_EQ(summary.deviation, std::sqrt(200.0 * 201 / 12));
    EXPECT_DOUBLE_EQ(summarize(std::vector{3.0}).deviation, 0);
    EXPECT_DOUBLE_EQ(summarize(std::vector{1.0, 1.0, 4.0}).deviation, std::sqrt(3.0));
}

TEST(Statistics, AHistogramCountsEverySampleInBinsOfRatioRootTwo) {
    const std::vector<double> samples{1.0, 1.3, 1.5, 8.0, 0.25, 1.0};
    const std::vector<Bin> bins = histogram(samples);
    EXPECT_DOUBLE_EQ(bins.front().from, 0.25);
    EXPECT_DOUBLE_EQ(bins.back().from, 8);
    std::size_t counted = 0;
    for (std::size_t i = 0; i < bins.size(); ++i) {
        if (i > 0) {
            EXPECT_DOUBLE_EQ(bins[i].from, bins[i - 1].to);
        }
        EXPECT_NEAR(bins[i].to / bins[i].from, std::sqrt(2.0), 1e-12);
        counted += bins[i].count;
        std::size_t inside = 0;
        for (const double x : samples) inside += x >= bins[i].from && x < bins[i].to ? 1 : 0;
        EXPECT_EQ(bins[i].count, inside) << "bin from " << bins[i].from;
    }
    EXPECT_EQ(counted, samples.size());
    EXPECT_EQ(histogram(std::vector{3.7}).size(), 1U);
}

TEST(Statistics, ASampleOnABoundIsInTheUpperBin) {
    for (int power = -8; power <= 8; ++power) {
        const std::vector<Bin> bins = histogram(std::vector{std::exp2(power)});
        EXPECT_DOUBLE_EQ(bins.front().from, std::exp2(power));
        EXPECT_EQ(bins.front().count, 1U);
    }
}

}  // namespace
}  // namespace weft::lab
