// SPDX-License-Identifier: BSD-3-Clause
// bench_delay.hpp - delays calls on purpose, to test whether a comparison detects it.
//
// Idea     A subject is derived from another one and adds a given number of nanoseconds to each
//          call on every rank. The delay is a counting loop, because reading the clock takes a
//          tenth of the fastest calls. Delays of several calls are spent together: a processor
//          that waits for a cache line executes ahead, and would hide a few nanoseconds.
// Next     perf/tell-apart for the comparison; docs/performance.md for the required sensitivity.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/clock.hpp"

namespace weft::tools {

/// Delays by counting; the counting speed is measured on construction.
class CountedDelay {
  public:
    explicit CountedDelay(double ns)
        : every_(static_cast<std::uint64_t>(std::clamp(std::ceil(kAtOnceNs / ns), 1.0, 1e6))),
          left_(every_),
          steps_(static_cast<std::uint64_t>(
              std::llround(ns * static_cast<double>(every_) / step_ns()))) {}

    /// Spends the delay of one call; that of several calls is spent in the last one.
    void spend() {
        if (--left_ != 0) return;
        left_ = every_;
        count_to(steps_);
    }

  private:
    static constexpr double kAtOnceNs = 2000;

    static void count_to(std::uint64_t steps) {
        for (volatile std::uint64_t i = 0; i < steps;) i = i + 1;
    }
    /// Takes the fastest of several tries, because a disturbed try would make delays too short.
    static double step_ns() {
        constexpr std::uint64_t kSteps = 100'000;
        double quickest = std::numeric_limits<double>::infinity();
        for (int i = 0; i < 10; ++i) {
            const std::uint64_t begin = base::monotonic_ns();
            count_to(kSteps);
            quickest = std::min(quickest, static_cast<double>(base::monotonic_ns() - begin));
        }
        return std::max(quickest, 1.0) / kSteps;
    }

    std::uint64_t every_;
    std::uint64_t left_;
    std::uint64_t steps_;
};

template <class Subject>
class Delayed : public Subject {
  public:
    template <class... Arguments>
    explicit Delayed(double ns, Arguments&&... arguments)
        : Subject(std::forward<Arguments>(arguments)...), delay_(ns) {}

    void call() {
        Subject::call();
        delay_.spend();
    }

  private:
    CountedDelay delay_;
};

}  // namespace weft::tools
