// SPDX-License-Identifier: BSD-3-Clause
// measuring.hpp - the loop that times a call made by all ranks, for us and for the peers.
//
// Idea     A batch of calls is timed as a whole on each rank. A sample is the time per call of one
//          batch, on the rank where it was largest. What is said about a call is the summary of the
//          samples of some batches (docs/performance.md).
// Why      Reading the clock costs as much as the fastest calls, and a rank that only starts a call
//          looks fast: hence batches, and the largest over ranks. One loop for every side, since a
//          ratio of two loops says nothing.
// Holds    Every decision (calls per batch, when to stop) comes from values that largest() has made
//          equal on all ranks. The subject communicates only in call(), align() and largest().
// Next     statistics.hpp for the summary; ping_pong.hpp for the figure to print beside it.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "lab/measure/statistics.hpp"

namespace weft::lab {

/// What is measured, and how the ranks that measure it talk to each other.
template <class S>
concept MeasuringSubject = requires(S& subject, std::uint64_t batch, std::span<double> values) {
    { subject.now_ns() } -> std::same_as<std::uint64_t>;
    subject.align();         // returns once every rank has come
    subject.prepare(batch);  // inputs of this batch; results of earlier ones spoiled
    subject.call();          // one call, complete on return
    { subject.check(batch) } -> std::same_as<bool>;  // the last call's result is right here
    subject.largest(values);  // each value becomes the largest over the ranks
};

/// One that needs something made before its calls, such as buffers that no call had.
template <class S>
concept SuppliedSubject = MeasuringSubject<S> && requires(S& subject, std::uint64_t calls) {
    { subject.calls_max() } -> std::same_as<std::uint64_t>;  // that can be supplied at once
    subject.supply(calls);  // for so many calls; not timed, contents do not matter
};

/// One whose ranks can add up what they have.
template <class S>
concept AddingSubject = MeasuringSubject<S> && requires(S& subject, std::span<double> values) {
    subject.sum(values);  // each value becomes the sum over the ranks
};

enum class MeasuringLoop : std::uint8_t {
    back_to_back,  ///< call after call
    separated,     ///< all ranks align before each call; only the calls are timed
};

struct MeasuringOptions {
    MeasuringLoop loop = MeasuringLoop::back_to_back;
    std::uint64_t iterations = 0;  ///< timed calls in all; 0: as many as fit into `seconds`
    double seconds = 0.2;          ///< for all batches of one measurement together
    std::uint64_t warmup = 16;     ///< calls before anything is timed
    std::uint64_t batches = 20;    ///< samples; fewer if there are fewer iterations
};

/// Of the mean times of a call on each rank.
struct OverRanks {
    double min = 0;
    double mean = 0;  ///< 0 if the subject cannot add up
    double max = 0;
};

struct Measurement {
    std::uint64_t iterations = 0;  ///< timed calls in all
    OverRanks ranks_us;
    Summary call_us;       ///< over batches
    bool checked = false;  ///< results were right on all ranks after every batch
};

namespace measuring {

inline constexpr std::uint64_t kCallsMax = std::uint64_t{1} << 30;

/// For how many calls every rank can be supplied.
template <MeasuringSubject S>
std::uint64_t calls_max(S& subject) {
    if constexpr (SuppliedSubject<S>) {
        double fewest = -static_cast<double>(std::min(subject.calls_max(), kCallsMax));
        subject.largest(std::span(&fewest, 1));
        return static_cast<std::uint64_t>(-fewest);
    } else {
        return kCallsMax;
    }
}

template <MeasuringSubject S>
void supply(S& subject, std::uint64_t calls) {
    if constexpr (SuppliedSubject<S>) subject.supply(calls);
}

struct BatchTime {
    double calls_ns = 0;  ///< in the calls
    double all_ns = 0;    ///< from the first alignment to the end
};

template <MeasuringSubject S>
BatchTime time_batch(S& subject, MeasuringLoop loop, std::uint64_t calls) {
    subject.align();
    const std::uint64_t begin = subject.now_ns();
    if (loop == MeasuringLoop::back_to_back) {
        for (std::uint64_t i = 0; i < calls; ++i) subject.call();
        const auto elapsed = static_cast<double>(subject.now_ns() - begin);
        return {elapsed, elapsed};
    }
    std::uint64_t in_calls = 0;
    for (std::uint64_t i = 0; i < calls; ++i) {
        subject.align();
        const std::uint64_t entry = subject.now_ns();
        subject.call();
        in_calls += subject.now_ns() - entry;
    }
    return {static_cast<double>(in_calls), static_cast<double>(subject.now_ns() - begin)};
}

/// How many calls make a batch, and about how long it takes.
struct Fitting {
    std::uint64_t calls = 1;
    double batch_ns = 1;
};

/// Calls that fill `target_ns`, `most` at most. The quickest of three tries counts: one that
/// was disturbed would make the batches too short.
template <MeasuringSubject S>
Fitting calibrate(S& subject, MeasuringLoop loop, double target_ns, std::uint64_t most) {
    for (std::uint64_t calls = 1;; calls *= 4) {
        double quickest = std::numeric_limits<double>::infinity();
        for (int i = 0; i < 3; ++i) {
            supply(subject, calls);
            double elapsed = time_batch(subject, loop, calls).all_ns;
            subject.largest(std::span(&elapsed, 1));
            quickest = std::min(quickest, std::max(elapsed, 1.0));
        }
        if (quickest < target_ns / 8 && calls <= most / 4) continue;
        const double fitting = static_cast<double>(calls) * target_ns / quickest;
        const auto chosen =
            static_cast<std::uint64_t>(std::clamp(fitting, 1.0, static_cast<double>(most)));
        return {chosen, quickest / static_cast<double>(calls) * static_cast<double>(chosen)};
    }
}

/// Calls before anything is timed, which end early if they take eight times as long as the timed
/// ones may (0: as long as they take). Not earlier: libraries learn from the first calls which
/// buffers come again, and of few timed calls one in which they act on it is most.
template <MeasuringSubject S>
void warm_up(S& subject, std::uint64_t calls, double seconds, std::uint64_t most) {
    const std::uint64_t begin = subject.now_ns();
    for (std::uint64_t i = 0; i < calls; ++i) {
        if (i % most == 0) supply(subject, std::min(most, calls - i));
        subject.call();
        if (seconds == 0 || !std::has_single_bit(i + 1)) continue;
        auto elapsed = static_cast<double>(subject.now_ns() - begin);
        subject.largest(std::span(&elapsed, 1));
        if (elapsed > seconds * 8e9) return;
    }
}

/// Of every rank's own mean time of a call.
template <MeasuringSubject S>
OverRanks over_ranks(S& subject, double own_us) {
    double extremes[] = {own_us, -own_us};
    subject.largest(extremes);
    OverRanks found{.min = -extremes[1], .max = extremes[0]};
    if constexpr (AddingSubject<S>) {
        double sums[] = {own_us, 1};
        subject.sum(sums);
        found.mean = sums[0] / sums[1];
    }
    return found;
}

}  // namespace measuring

/// Measures the subject. Every rank calls it with the same options and gets the same result.
template <MeasuringSubject S>
[[nodiscard]] Measurement measure(S& subject, const MeasuringOptions& options) {
    std::uint64_t batches = std::max<std::uint64_t>(options.batches, 1);
    std::uint64_t iterations = options.iterations;
    const std::uint64_t most = measuring::calls_max(subject);
    subject.prepare(0);
    measuring::warm_up(subject, options.warmup, iterations == 0 ? options.seconds : 0, most);
    if (iterations == 0) {
        const double target_ns = options.seconds * 1e9 / static_cast<double>(batches);
        const measuring::Fitting fitting =
            measuring::calibrate(subject, options.loop, target_ns, most);
        // One call may take longer than a batch should: fewer batches then.
        const double room = options.seconds * 1e9 / fitting.batch_ns;
        batches = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::min(room + 0.5, 1e9)),
                                            1, batches);
        iterations = batches * fitting.calls;
    }
    batches = std::clamp(batches, (iterations + most - 1) / most, iterations);

    std::vector<double> samples_us;
    double own_ns = 0;
    double wrong = 0;
    for (std::uint64_t batch = 0; batch < batches; ++batch) {
        const std::uint64_t calls = iterations / batches + (batch < iterations % batches ? 1 : 0);
        measuring::supply(subject, calls);
        subject.prepare(batch + 1);
        const auto elapsed = measuring::time_batch(subject, options.loop, calls);
        subject.align();  // a rank that checks results takes the processor of one still measured
        own_ns += elapsed.calls_ns;
        samples_us.push_back(elapsed.calls_ns / static_cast<double>(calls) / 1000);
        if (!subject.check(batch + 1)) wrong = 1;
    }
    const double own_us = own_ns / static_cast<double>(iterations) / 1000;
    const OverRanks ranks_us = measuring::over_ranks(subject, own_us);
    subject.largest(samples_us);
    subject.largest(std::span(&wrong, 1));
    return {.iterations = iterations,
            .ranks_us = ranks_us,
            .call_us = summarize(samples_us),
            .checked = wrong == 0};
}

/// Times so many calls one by one: what batches hide. Each is a time in microseconds, the clock's
/// reading included, on the rank where it was largest. Every rank gets the same.
template <MeasuringSubject S>
[[nodiscard]] std::vector<double> measure_singly(S& subject, MeasuringLoop loop,
                                                 std::uint64_t calls) {
    std::vector<double> times_us;
    times_us.reserve(calls);
    const std::uint64_t most = measuring::calls_max(subject);
    for (std::uint64_t i = 0; i < calls; ++i) {
        if (i % most == 0) {
            measuring::supply(subject, std::min(most, calls - i));
            subject.align();
        }
        if (loop == MeasuringLoop::separated) subject.align();
        const std::uint64_t entry = subject.now_ns();
        subject.call();
        // A clock may stand still between two readings; a call takes time all the same.
        const std::uint64_t elapsed = std::max<std::uint64_t>(subject.now_ns() - entry, 1);
        times_us.push_back(static_cast<double>(elapsed) / 1000);
    }
    subject.largest(times_us);
    return times_us;
}

}  // namespace weft::lab
