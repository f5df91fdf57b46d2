// SPDX-License-Identifier: BSD-3-Clause
// differences.hpp - differences between the results of a job and of a serial run.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>

namespace apps {

namespace detail {
inline void require_same_length(std::span<const double> result, std::span<const double> serial) {
    if (result.size() != serial.size()) throw std::invalid_argument("results of different lengths");
}
}  // namespace detail

/// Returns the number of elements whose bits differ.
[[nodiscard]] inline std::size_t count_different(std::span<const double> result,
                                                 std::span<const double> serial) {
    detail::require_same_length(result, serial);
    std::size_t different = 0;
    for (std::size_t i = 0; i < result.size(); ++i)
        different +=
            std::bit_cast<std::uint64_t>(result[i]) != std::bit_cast<std::uint64_t>(serial[i]);
    return different;
}

/// Returns the largest difference of two elements, relative to the largest element of `serial`.
/// Returns infinity if any element is NaN, so that the result exceeds any tolerance.
[[nodiscard]] inline double relative_difference(std::span<const double> result,
                                                std::span<const double> serial) {
    detail::require_same_length(result, serial);
    double distance = 0;
    double scale = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
        const double gap = std::abs(result[i] - serial[i]);
        if (!std::isfinite(gap)) return std::numeric_limits<double>::infinity();
        distance = std::max(distance, gap);
        scale = std::max(scale, std::abs(serial[i]));
    }
    return distance == 0 ? 0 : distance / scale;
}

}  // namespace apps
