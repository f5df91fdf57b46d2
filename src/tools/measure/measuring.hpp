// SPDX-License-Identifier: BSD-3-Clause
// measuring.hpp - times calls of all ranks, for weft and for the libraries compared with it.
//
// Idea     Each rank times a batch of calls as a whole. A sample is the time per call of a batch,
//          on the slowest rank. The result summarizes the samples (docs/performance.md).
// Why      Reading the clock takes the time of a fast call, so batches are timed. A root that only
//          sends is faster than its receivers, so the slowest rank counts. All libraries use this
//          loop, because times of different loops cannot be compared.
// Holds    Every decision (calls per batch, when to stop) depends on values that reduce_max() has
//          made equal on all ranks. The subject communicates only in call(), synchronize(),
//          reduce_max() and sum().
// Next     statistics.hpp for the summary; ping_pong.hpp for the reference time printed with it.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tools/measure/statistics.hpp"

namespace weft::lab {

/// A measured call, and the communication of the ranks that measure it.
template <class S>
concept MeasuringSubject = requires(S& subject, std::uint64_t batch, std::span<double> values) {
    { subject.now_ns() } -> std::same_as<std::uint64_t>;
    subject.synchronize();   // returns after all ranks have entered
    subject.prepare(batch);  // writes inputs of this batch; overwrites earlier results
    subject.call();          // one call, complete on return
    { subject.check(batch) } -> std::same_as<bool>;  // this rank's last result is right
    subject.reduce_max(values);  // replaces each value by the largest over the ranks
};

/// A subject that must prepare calls, for example with fresh buffers.
template <class S>
concept SuppliedSubject = MeasuringSubject<S> && requires(S& subject, std::uint64_t calls) {
    { subject.calls_max() } -> std::same_as<std::uint64_t>;  // largest argument of supply()
    subject.supply(calls);  // prepares this number of calls; not timed
};

/// A subject whose ranks can add values.
template <class S>
concept AddingSubject = MeasuringSubject<S> && requires(S& subject, std::span<double> values) {
    subject.sum(values);  // replaces each value by the sum over the ranks
};

enum class MeasuringLoop : std::uint8_t {
    back_to_back,  ///< call after call
    separated,     ///< synchronize() before each call; only the calls are timed
};

struct MeasuringOptions {
    MeasuringLoop loop = MeasuringLoop::back_to_back;
    std::uint64_t iterations = 0;  ///< number of timed calls; 0: limited by `seconds`
    double seconds = 0.2;          ///< approximate time of all batches together
    std::uint64_t warmup = 16;     ///< untimed calls before the first timed one
    std::uint64_t batches = 20;    ///< number of samples; fewer if there are fewer timed calls
};

/// Each rank's mean time of a call, summarized over the ranks.
struct OverRanks {
    double min = 0;
    double mean = 0;  ///< 0 if the subject is no AddingSubject
    double max = 0;
};

struct Measurement {
    std::uint64_t iterations = 0;  ///< number of timed calls
    OverRanks ranks_us;
    Summary call_us;       ///< time per call of a batch on its slowest rank, over batches
    bool checked = false;  ///< results were correct on all ranks after each batch
};

namespace measuring {

inline constexpr std::uint64_t kCallsMax = std::uint64_t{1} << 30;  ///< calls of a batch

/// Returns the largest argument of supply() on all ranks: the minimum over ranks of calls_max().
template <MeasuringSubject S>
std::uint64_t calls_max(S& subject) {
    if constexpr (SuppliedSubject<S>) {
        // The largest negated value is the negated minimum.
        double negated = -static_cast<double>(std::min(subject.calls_max(), kCallsMax));
        subject.reduce_max(std::span(&negated, 1));
        return static_cast<std::uint64_t>(-negated);
    } else {
        return kCallsMax;
    }
}

template <MeasuringSubject S>
void supply(S& subject, std::uint64_t calls) {
    if constexpr (SuppliedSubject<S>) subject.supply(calls);
}

struct BatchTime {
    double calls_ns = 0;  ///< time in the calls
    double all_ns = 0;    ///< from the end of the first synchronize() to the end of the last call
};

template <MeasuringSubject S>
BatchTime time_batch(S& subject, MeasuringLoop loop, std::uint64_t calls) {
    subject.synchronize();
    const std::uint64_t begin = subject.now_ns();
    if (loop == MeasuringLoop::back_to_back) {
        for (std::uint64_t i = 0; i < calls; ++i) subject.call();
        const auto elapsed = static_cast<double>(subject.now_ns() - begin);
        return {elapsed, elapsed};
    }
    std::uint64_t in_calls = 0;
    for (std::uint64_t i = 0; i < calls; ++i) {
        subject.synchronize();
        const std::uint64_t entry = subject.now_ns();
        subject.call();
        in_calls += subject.now_ns() - entry;
    }
    return {static_cast<double>(in_calls), static_cast<double>(subject.now_ns() - begin)};
}

struct BatchSize {
    std::uint64_t calls = 1;
    double predicted_ns = 1;
};

/// Returns the size of a batch that takes about `target_ns`, at most `supply_max` calls. The
/// fastest of three tries counts, because a disturbed try would make the batches too short.
template <MeasuringSubject S>
BatchSize calibrate(S& subject, MeasuringLoop loop, double target_ns, std::uint64_t supply_max) {
    for (std::uint64_t calls = 1;; calls *= 4) {
        double quickest = std::numeric_limits<double>::infinity();
        for (int i = 0; i < 3; ++i) {
            supply(subject, calls);
            double elapsed = time_batch(subject, loop, calls).all_ns;
            subject.reduce_max(std::span(&elapsed, 1));
            quickest = std::min(quickest, std::max(elapsed, 1.0));
        }
        // A batch of an eighth of the target is long enough to compute the others from it.
        if (quickest < target_ns / 8 && calls <= supply_max / 4) continue;
        const double fitting = static_cast<double>(calls) * target_ns / quickest;
        const auto chosen =
            static_cast<std::uint64_t>(std::clamp(fitting, 1.0, static_cast<double>(supply_max)));
        return {chosen, quickest / static_cast<double>(calls) * static_cast<double>(chosen)};
    }
}

/// Makes `calls` untimed calls, for at most 8 * `seconds` (0: no limit). Libraries detect in the
/// first calls which buffers recur, and remap or register these in a later call. If this call were
/// among few timed calls, it would dominate the result; so the limit is generous. Ranks compare
/// their times after 1, 2, 4, ... calls, to make few calls of reduce_max(). supply_max: largest
/// argument of supply().
template <MeasuringSubject S>
void warm_up(S& subject, std::uint64_t calls, double seconds, std::uint64_t supply_max) {
    const std::uint64_t begin = subject.now_ns();
    for (std::uint64_t i = 0; i < calls; ++i) {
        if (i % supply_max == 0) supply(subject, std::min(supply_max, calls - i));
        subject.call();
        if (seconds == 0 || !std::has_single_bit(i + 1)) continue;
        auto elapsed = static_cast<double>(subject.now_ns() - begin);
        subject.reduce_max(std::span(&elapsed, 1));
        if (elapsed > seconds * 8e9) return;
    }
}

/// Summarizes the mean times of all ranks.
template <MeasuringSubject S>
OverRanks over_ranks(S& subject, double own_us) {
    double extremes[] = {own_us, -own_us};  // the largest negated time gives the minimum
    subject.reduce_max(extremes);
    OverRanks found{.min = -extremes[1], .max = extremes[0]};
    if constexpr (AddingSubject<S>) {
        double sums[] = {own_us, 1};
        subject.sum(sums);
        found.mean = sums[0] / sums[1];
    }
    return found;
}

}  // namespace measuring

/// Measures the subject. All ranks call it with equal options and get equal results.
template <MeasuringSubject S>
[[nodiscard]] Measurement measure(S& subject, const MeasuringOptions& options) {
    std::uint64_t batches = std::max<std::uint64_t>(options.batches, 1);
    std::uint64_t iterations = options.iterations;
    const std::uint64_t supply_max = measuring::calls_max(subject);
    subject.prepare(0);
    measuring::warm_up(subject, options.warmup, iterations == 0 ? options.seconds : 0, supply_max);
    if (iterations == 0) {
        const double target_ns = options.seconds * 1e9 / static_cast<double>(batches);
        const measuring::BatchSize batch =
            measuring::calibrate(subject, options.loop, target_ns, supply_max);
        // If a single call takes longer than a batch should, there are fewer batches.
        const double fit = options.seconds * 1e9 / batch.predicted_ns;
        batches = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::min(fit + 0.5, 1e9)), 1,
                                            batches);
        iterations = batches * batch.calls;
    }
    // A batch has at least one call and at most supply_max calls.
    batches = std::clamp(batches, (iterations + supply_max - 1) / supply_max, iterations);

    std::vector<double> samples_us;
    double own_ns = 0;
    double wrong = 0;
    for (std::uint64_t batch = 0; batch < batches; ++batch) {
        const std::uint64_t calls = iterations / batches + (batch < iterations % batches ? 1 : 0);
        measuring::supply(subject, calls);
        subject.prepare(batch + 1);
        const auto elapsed = measuring::time_batch(subject, options.loop, calls);
        subject.synchronize();  // checks of results would disturb ranks that are still measuring
        own_ns += elapsed.calls_ns;
        samples_us.push_back(elapsed.calls_ns / static_cast<double>(calls) / 1000);
        if (!subject.check(batch + 1)) wrong = 1;
    }
    const double own_us = own_ns / static_cast<double>(iterations) / 1000;
    const OverRanks ranks_us = measuring::over_ranks(subject, own_us);
    subject.reduce_max(samples_us);
    subject.reduce_max(std::span(&wrong, 1));
    return {.iterations = iterations,
            .ranks_us = ranks_us,
            .call_us = summarize(samples_us),
            .checked = wrong == 0};
}

/// Times `calls` calls one by one, to show the variation that batches hide. Returns the time of
/// each call on its slowest rank in us, including a reading of the clock. All ranks get equal
/// results.
template <MeasuringSubject S>
[[nodiscard]] std::vector<double> measure_singly(S& subject, MeasuringLoop loop,
                                                 std::uint64_t calls) {
    std::vector<double> times_us;
    times_us.reserve(calls);
    const std::uint64_t supply_max = measuring::calls_max(subject);
    for (std::uint64_t i = 0; i < calls; ++i) {
        if (i % supply_max == 0) {
            measuring::supply(subject, std::min(supply_max, calls - i));
            subject.synchronize();
        }
        if (loop == MeasuringLoop::separated) subject.synchronize();
        const std::uint64_t entry = subject.now_ns();
        subject.call();
        // Coarse clocks may show no difference; a call is then counted as 1 ns.
        const std::uint64_t elapsed = std::max<std::uint64_t>(subject.now_ns() - entry, 1);
        times_us.push_back(static_cast<double>(elapsed) / 1000);
    }
    subject.reduce_max(times_us);
    return times_us;
}

}  // namespace weft::lab
