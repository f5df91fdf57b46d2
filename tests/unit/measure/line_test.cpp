// SPDX-License-Identifier: BSD-3-Clause
// Goal: the fit through points on a line is that line, and R^2 measures the deviation of other
// points.
#include "tools/measure/line.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::lab {
namespace {

TEST(Line, PointsOnALineAreFittedExactly) {
    const std::vector<Point> points{{1, 5}, {2, 7}, {5, 13}};
    const Line line = fit_line(points);
    EXPECT_NEAR(line.intercept, 3, 1e-9);
    EXPECT_NEAR(line.slope, 2, 1e-9);
    EXPECT_NEAR(line.r2, 1, 1e-9);
}

TEST(Line, PointsOffTheLineLowerR2) {
    const Line line = fit_line(std::vector<Point>{{0, 0}, {1, 0}, {2, 3}});
    EXPECT_DOUBLE_EQ(line.slope, 1.5);
    EXPECT_DOUBLE_EQ(line.intercept, -0.5);
    EXPECT_DOUBLE_EQ(line.r2, 0.75);
    const Line flat = fit_line(std::vector<Point>{{0, 2}, {1, 2}});
    EXPECT_EQ(flat.slope, 0);
    EXPECT_EQ(flat.r2, 1);
    EXPECT_EQ(fit_line(std::vector<Point>{{1, 0.1}, {2, 0.1}, {4, 0.1}}).r2, 1) << "rounded mean";
}

TEST(Line, ARelativeFitIsNotDominatedByLargeValues) {
    const std::vector<Point> points{{1, 1}, {2, 2}, {1000, 3000}};
    const Line plain = fit_line(points);
    EXPECT_LT(plain.intercept + plain.slope, 0.2) << "a least-squares fit is far from (1, 1)";
    const Line line = fit_line_relative(points);
    for (const Point& point : std::vector<Point>{{1, 1}, {2, 2}})
        EXPECT_NEAR((line.intercept + line.slope * point.x) / point.y, 1, 0.3) << "x = " << point.x;
}

}  // namespace
}  // namespace weft::lab
