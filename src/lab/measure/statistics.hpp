// SPDX-License-Identifier: BSD-3-Clause
// statistics.hpp - what is said about a series of samples: median, percentiles, extremes.
//
// Holds    Pure; samples are taken as a span and left in their order. No samples is our own bug.
// Next     docs/performance.md for what a sample is.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft::lab {

/// The middle sample; between two middle ones, their mean.
[[nodiscard]] double median(std::span<const double> samples);

/// The smallest sample that at least `percent` per cent of the samples do not exceed (nearest
/// rank): always one of the samples. 0 <= percent <= 100.
[[nodiscard]] double percentile(std::span<const double> samples, double percent);

struct Summary {
    std::size_t count = 0;
    double min = 0;
    double median = 0;
    double p99 = 0;
    double max = 0;
};
[[nodiscard]] Summary summarize(std::span<const double> samples);

/// Samples from `from` on and below `to`.
struct Bin {
    double from = 0;
    double to = 0;
    std::size_t count = 0;
};
/// Bins side by side that hold all samples, none empty at either end. Borders are powers of the
/// square root of two, so that a bin means the same in every histogram. Samples of 0 or less are
/// our own bug.
[[nodiscard]] std::vector<Bin> histogram(std::span<const double> samples);

}  // namespace weft::lab
