// SPDX-License-Identifier: BSD-3-Clause
#include "tools/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/check.hpp"

namespace weft::lab {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
    WEFT_CHECK(!samples.empty());
    std::vector<double> copy(samples.begin(), samples.end());
    std::sort(copy.begin(), copy.end());
    return copy;
}

double median_of_sorted(std::span<const double> samples) {
    const std::size_t middle = samples.size() / 2;
    if (samples.size() % 2 == 1) return samples[middle];
    return samples[middle - 1] + (samples[middle] - samples[middle - 1]) / 2;
}

double percentile_of_sorted(std::span<const double> samples, double percent) {
    WEFT_CHECK(percent >= 0 && percent <= 100, percent);
    const auto count = static_cast<double>(samples.size());
    const double rank = std::ceil(percent * count / 100);
    return samples[rank < 1 ? 0 : static_cast<std::size_t>(rank) - 1];
}

double deviation_of(std::span<const double> samples) {
    const auto count = static_cast<double>(samples.size());
    if (count < 2) return 0;
    const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
    double squares = 0;
    for (const double sample : samples) squares += (sample - mean) * (sample - mean);
    return std::sqrt(squares / (count - 1));
}

}  // namespace

double median(std::span<const double> samples) {
    return median_of_sorted(sorted(samples));
}

double percentile(std::span<const double> samples, double percent) {
    return percentile_of_sorted(sorted(samples), percent);
}

Summary summarize(std::span<const double> samples) {
    const std::vector<double> ascending = sorted(samples);
    return {.count = ascending.size(),
            .min = ascending.front(),
            .median = median_of_sorted(ascending),
            .p99 = percentile_of_sorted(ascending, 99),
            .max = ascending.back(),
            .deviation = deviation_of(samples)};
}

std::vector<Bin> histogram(std::span<const double> samples) {
    const std::vector<double> ascending = sorted(samples);
    WEFT_CHECK(ascending.front() > 0, ascending.front());
    const auto boundary = [](int index) { return std::exp2(index / 2.0); };
    int index = static_cast<int>(std::floor(2 * std::log2(ascending.front())));
    // Rounding of the logarithm may give the neighboring bin.
    while (boundary(index) > ascending.front()) --index;
    while (boundary(index + 1) <= ascending.front()) ++index;
    std::vector<Bin> bins{{boundary(index), boundary(index + 1), 0}};
    for (const double sample : ascending) {
        while (sample >= bins.back().to) {
            ++index;
            bins.push_back({boundary(index), boundary(index + 1), 0});
        }
        ++bins.back().count;
    }
    return bins;
}

}  // namespace weft::lab
