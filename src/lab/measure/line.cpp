// SPDX-License-Identifier: BSD-3-Clause
#include "lab/measure/line.hpp"

#include "base/check.hpp"

namespace weft::lab {

Line fit_line(std::span<const Point> points) {
    const auto count = static_cast<double>(points.size());
    Point mean;
    for (const Point& point : points) {
        mean.x += point.x / count;
        mean.y += point.y / count;
    }
    double xx = 0;
    double xy = 0;
    double yy = 0;
    for (const Point& point : points) {
        xx += (point.x - mean.x) * (point.x - mean.x);
        xy += (point.x - mean.x) * (point.y - mean.y);
        yy += (point.y - mean.y) * (point.y - mean.y);
    }
    WEFT_CHECK(xx > 0, points.size());
    Line line{.slope = xy / xx};
    line.intercept = mean.y - line.slope * mean.x;
    line.r2 = yy > 0 ? xy * xy / (xx * yy) : 1;
    return line;
}

}  // namespace weft::lab
