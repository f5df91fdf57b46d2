// SPDX-License-Identifier: BSD-3-Clause
// line.hpp - straight line through measured points by least squares, with the quality of its fit.
//
// Holds    Pure. There must be at least two points with different x.
// Next     tools/cli/fit_command.cpp, which fits costs.
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
    double r2 = 0;  ///< fraction of the variance of y that the line explains; 1 if y is constant
};
[[nodiscard]] Line fit_line(std::span<const Point> points);
/// Minimizes the squares of relative instead of absolute residuals; all y must be positive.
[[nodiscard]] Line fit_line_relative(std::span<const Point> points);

}  // namespace weft::lab
