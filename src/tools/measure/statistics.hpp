// SPDX-License-Identifier: BSD-3-Clause
// statistics.hpp - summary of samples: median, percentiles, extremes, standard deviation.
//
// Holds    Pure. The samples may be in any order. There must be at least one sample.
// Next     docs/performance.md for the definition of a sample.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft::lab {

/// Returns the middle sample; with two middle samples, their mean.
[[nodiscard]] double median(std::span<const double> samples);

/// Returns the smallest sample that at least `percent` per cent of the samples do not exceed
/// (nearest rank). 0 <= percent <= 100.
[[nodiscard]] double percentile(std::span<const double> samples, double percent);

struct Summary {
    std::size_t count = 0;
    double min = 0;
    double median = 0;
    double p99 = 0;
    double max = 0;
    double deviation = 0;  ///< standard deviation (divisor count - 1); 0 for one sample
};
[[nodiscard]] Summary summarize(std::span<const double> samples);

/// Samples in [from, to).
struct Bin {
    double from = 0;
    double to = 0;
    std::size_t count = 0;
};
/// Returns adjacent bins that contain all samples; the first and the last bin are not empty.
/// Boundaries are powers of the square root of two, so all histograms have the same bins.
/// Samples must be positive.
[[nodiscard]] std::vector<Bin> histogram(std::span<const double> samples);

}  // namespace weft::lab
