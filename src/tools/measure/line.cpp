// SPDX-License-Identifier: BSD-3-Clause
#include "tools/measure/line.hpp"

#include "base/check.hpp"

namespace weft::lab {

namespace {

template <class Weight>
Line fit(std::span<const Point> points, Weight weight_of) {
    double weights = 0;
    Point mean;
    for (const Point& point : points) {
        const double weight = weight_of(point);
        weights += weight;
        mean.x += weight * point.x;
        mean.y += weight * point.y;
    }
    mean.x /= weights;
    mean.y /= weights;
    double xx = 0;
    double xy = 0;
    double yy = 0;
    for (const Point& point : points) {
        const double weight = weight_of(point);
        xx += weight * (point.x - mean.x) * (point.x - mean.x);
        xy += weight * (point.x - mean.x) * (point.y - mean.y);
        yy += weight * (point.y - mean.y) * (point.y - mean.y);
    }
    WEFT_CHECK(xx > 0, points.size());
    Line line{.slope = xy / xx};
    line.intercept = mean.y - line.slope * mean.x;
    // Bound of yy if y is constant: relative rounding errors are below 1e-12.
    const double rounding = 1e-24 * weights * mean.y * mean.y;
    line.r2 = yy > rounding ? xy * xy / (xx * yy) : 1;
    return line;
}

}  // namespace

Line fit_line(std::span<const Point> points) {
    return fit(points, [](const Point&) { return 1.0; });
}

Line fit_line_relative(std::span<const Point> points) {
    // Weights of 1 / y^2 turn squared residuals into squared relative residuals.
    return fit(points, [](const Point& point) { return 1 / (point.y * point.y); });
}

}  // namespace weft::lab
