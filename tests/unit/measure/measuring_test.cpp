// SPDX-License-Identifier: BSD-3-Clause
// Goal: the measuring loop makes the requested calls and samples, times only calls, and reports
// wrong results.
// Method: the measured subject records its calls, and its clock advances by a given cost for each
// action.
#include "tools/measure/measuring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace weft::lab {
namespace {

/// One of two ranks. The other rank takes `slower` times as long.
struct FakeSubject {
    std::uint64_t clock_ns = 0;
    std::uint64_t synchronize_ns = 5000;  // time of synchronize()
    double slower = 1;
    std::function<std::uint64_t(std::uint64_t call)> cost_ns = [](std::uint64_t) { return 100; };
    std::uint64_t wrong_batch = 0;  // batch whose check fails; 0: none

    std::uint64_t calls = 0;
    std::uint64_t synchronized = 0;             // number of calls of synchronize()
    std::vector<std::uint64_t> prepared;        // batches, in order
    std::vector<std::uint64_t> calls_at_check;  // number of calls before each check
    bool synchronized_after_calls = false;
    std::uint64_t unsynchronized_checks = 0;  // checks while other ranks may still be timed

    std::uint64_t now_ns() const { return clock_ns; }
    void synchronize() {
        clock_ns += synchronize_ns;
        ++synchronized;
        synchronized_after_calls = true;
    }
    void prepare(std::uint64_t batch) {
        clock_ns += 1'000'000;
        prepared.push_back(batch);
    }
    void call() {
        clock_ns += cost_ns(calls++);
        synchronized_after_calls = false;
    }
    bool check(std::uint64_t batch) {
        clock_ns += 1'000'000;
        calls_at_check.push_back(calls);
        unsynchronized_checks += synchronized_after_calls ? 0 : 1;
        return batch != wrong_batch;
    }
    void reduce_max(std::span<double> values) const {
        for (double& value : values) value = std::max(value, value * slower);
    }
};

TEST(Measuring, IterationsAreSpreadOverTheBatches) {
    FakeSubject subject;
    const auto measurement = measure(subject, {.iterations = 43, .warmup = 7, .batches = 10});
    EXPECT_EQ(measurement.iterations, 43U);
    EXPECT_EQ(subject.calls, 7U + 43U);
    EXPECT_EQ(measurement.call_us.count, 10U);
    EXPECT_EQ(subject.calls_at_check.front(), 7U + 5U) << "the first batches take the remainder";
    EXPECT_EQ(subject.calls_at_check.back() - *(subject.calls_at_check.end() - 2), 4U);
    EXPECT_DOUBLE_EQ(measurement.call_us.median, 0.1);
    EXPECT_DOUBLE_EQ(measurement.call_us.max, 0.1);
    EXPECT_TRUE(measurement.checked);
    EXPECT_EQ(subject.unsynchronized_checks, 0U);
    ASSERT_EQ(subject.prepared.size(), 11U);
    for (std::size_t i = 0; i < subject.prepared.size(); ++i) EXPECT_EQ(subject.prepared[i], i);
}

TEST(Measuring, FewIterationsGiveFewSamples) {
    FakeSubject subject;
    const auto measurement = measure(subject, {.iterations = 3, .batches = 10});
    EXPECT_EQ(measurement.call_us.count, 3U);
    EXPECT_EQ(measurement.iterations, 3U);
}

TEST(Measuring, BatchesFillTheRequestedTime) {
    for (const std::uint64_t cost : {20U, 100U, 50'000U, 3'000'000U}) {
        FakeSubject subject;
        subject.cost_ns = [cost](std::uint64_t) { return cost; };
        const auto measurement = measure(subject, {.seconds = 0.2, .batches = 20});
        EXPECT_NEAR(static_cast<double>(measurement.iterations * cost), 0.2e9,
                    0.02e9 + 20.0 * static_cast<double>(cost));
        EXPECT_EQ(measurement.iterations % 20, 0U);
        EXPECT_DOUBLE_EQ(measurement.call_us.min, static_cast<double>(cost) / 1000);
    }
}

TEST(Measuring, TheTimeLimitHoldsForLongCalls) {
    FakeSubject subject;
    subject.cost_ns = [](std::uint64_t) { return 1'000'000'000; };
    const auto measurement = measure(subject, {.seconds = 0.1, .warmup = 0, .batches = 4});
    EXPECT_EQ(measurement.iterations, 1U);
    EXPECT_DOUBLE_EQ(measurement.call_us.median, 1e6);
    // Twenty batches of one call of 20 ms would take twice the permitted time.
    subject.cost_ns = [](std::uint64_t) { return 20'000'000; };
    subject.calls = 0;
    EXPECT_EQ(measure(subject, {.seconds = 0.2, .warmup = 1000, .batches = 20}).iterations, 10U);
    // warm_up() stops after 8 * 0.2 s = 1.6 s, but only checks the time after 1, 2, 4 ... calls: 64
    // calls take 1.28 s, so it stops after 128.
    EXPECT_LE(subject.calls, 128U + 3U + 10U) << "calls of warm-up, calibration and batches";
}

TEST(Measuring, ASlowStartDoesNotShortenTheBatches) {
    FakeSubject subject;
    subject.cost_ns = [](std::uint64_t call) { return call < 2 ? 500'000'000 : 100; };
    const auto measurement = measure(subject, {.seconds = 0.2, .warmup = 0, .batches = 20});
    EXPECT_GT(measurement.iterations, 1'000'000U);
}

TEST(Measuring, TheSlowestRankDeterminesTheTime) {
    FakeSubject subject;
    subject.slower = 3;
    const auto measurement = measure(subject, {.iterations = 20});
    EXPECT_DOUBLE_EQ(measurement.call_us.median, 0.3);
    EXPECT_DOUBLE_EQ(measurement.ranks_us.min, 0.1);
    EXPECT_DOUBLE_EQ(measurement.ranks_us.max, 0.3);
}

TEST(Measuring, TheMeansOfTheRanksAreSummarized) {
    struct Adding : FakeSubject {
        static void sum(std::span<double> values) {
            values[0] *= 4;  // sum of the times t and 3 t
            values[1] *= 2;  // number of ranks
        }
    } subject;
    subject.slower = 3;
    const auto measurement = measure(subject, {.iterations = 20});
    EXPECT_DOUBLE_EQ(measurement.ranks_us.min, 0.1);
    EXPECT_DOUBLE_EQ(measurement.ranks_us.mean, 0.2);
    EXPECT_DOUBLE_EQ(measurement.ranks_us.max, 0.3);
}

TEST(Measuring, SeparatedCallsAreAlignedAndOnlyCallsAreTimed) {
    FakeSubject subject;
    const auto measurement = measure(
        subject, {.loop = MeasuringLoop::separated, .iterations = 40, .warmup = 0, .batches = 4});
    EXPECT_EQ(subject.synchronized, 4U + 40U + 4U)
        << "before the 4 batches, the 40 calls and the 4 checks of results";
    EXPECT_DOUBLE_EQ(measurement.call_us.median, 0.1);
    EXPECT_DOUBLE_EQ(measurement.call_us.max, 0.1);
}

TEST(Measuring, OneWrongBatchFailsTheCheck) {
    for (const std::uint64_t wrong : {1U, 5U, 10U}) {
        FakeSubject subject;
        subject.wrong_batch = wrong;
        EXPECT_FALSE(measure(subject, {.iterations = 100, .batches = 10}).checked);
    }
}

TEST(Measuring, OutliersChangeTheMaximumButNotTheMedian) {
    FakeSubject subject;
    subject.cost_ns = [](std::uint64_t call) { return call == 55 ? 100'000 : 100; };
    const auto measurement = measure(subject, {.iterations = 100, .warmup = 0, .batches = 10});
    EXPECT_DOUBLE_EQ(measurement.call_us.median, 0.1);
    EXPECT_NEAR(measurement.call_us.max, 10.09, 1e-9) << "mean of 100 us and nine times 0.1 us";
}

TEST(Measuring, SingleCallsAreTimedOneByOne) {
    for (const auto loop : {MeasuringLoop::back_to_back, MeasuringLoop::separated}) {
        FakeSubject subject;
        subject.slower = 2;
        subject.cost_ns = [](std::uint64_t call) { return call == 3 ? 50'000U : 100U; };
        const std::vector<double> times = measure_singly(subject, loop, 5);
        ASSERT_EQ(times.size(), 5U);
        for (std::size_t i = 0; i < times.size(); ++i)
            EXPECT_DOUBLE_EQ(times[i], i == 3 ? 100.0 : 0.2) << "on the slower rank";
        EXPECT_EQ(subject.synchronized, loop == MeasuringLoop::separated ? 6U : 1U);
    }
}

/// A subject that needs a supply of buffers before every `supply_max` calls.
struct FakeSuppliedSubject : FakeSubject {
    std::uint64_t supply_max = 4;
    std::uint64_t calls_left = 0;  // calls permitted before the next supply
    std::uint64_t supplies = 0;

    std::uint64_t calls_max() const { return supply_max; }
    void supply(std::uint64_t supplied) {
        clock_ns += 1'000'000;
        EXPECT_LE(supplied, supply_max);
        calls_left = supplied;
        ++supplies;
    }
    void call() {
        ASSERT_GT(calls_left--, 0U) << "a call without a supply";
        FakeSubject::call();
    }
};

TEST(Measuring, SuppliesAreNotTimed) {
    FakeSuppliedSubject subject;
    const auto by_count = measure(subject, {.iterations = 43, .warmup = 10, .batches = 5});
    EXPECT_EQ(by_count.iterations, 43U);
    EXPECT_EQ(by_count.call_us.count, 11U) << "one batch for each supply";
    EXPECT_EQ(subject.supplies, 3U + 11U) << "for 10 calls of the warm-up and 43 timed calls";
    EXPECT_DOUBLE_EQ(by_count.call_us.max, 0.1);
    const auto by_time = measure(subject, {.seconds = 0.2, .batches = 5});
    EXPECT_EQ(by_time.iterations, 20U) << "5 batches of one supply each";
    const std::vector<double> times = measure_singly(subject, MeasuringLoop::back_to_back, 9);
    EXPECT_DOUBLE_EQ(*std::ranges::max_element(times), 0.1);
}

TEST(Measuring, ACallTakesTimeEvenIfTheClockDoesNotAdvance) {
    FakeSubject subject;
    subject.cost_ns = [](std::uint64_t) { return 0U; };
    EXPECT_DOUBLE_EQ(measure_singly(subject, MeasuringLoop::back_to_back, 1).front(), 0.001);
}

}  // namespace
}  // namespace weft::lab
