// SPDX-License-Identifier: BSD-3-Clause
// line.hpp - the straight line through measured points, and how well it fits.
//
// Holds    Pure. Least squares; at least two points with different x, else it is our own bug.
// Next     front/cli/fit_command.cpp for whose points.
#pragma once

#include <span>
#include <vector>

namespace weft::lab {

struct Point {
    double x = 0;
    double y = 0;
};
using Points = std::vector<Point>;

/// y = intercept + slope * x.
struct Line {
    double intercept = 0;
    double slope = 0;
    double r2 = 0;  ///< part of the variance of y that it explains; 1 if y does not vary
};
[[nodiscard]] Line fit_line(std::span<const Point> points);
/// The one from which points differ least in proportion to their y, which is more than 0.
[[nodiscard]] Line fit_line_by_ratio(std::span<const Point> points);

}  // namespace weft::lab
