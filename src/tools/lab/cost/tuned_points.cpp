// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lab/cost/tuned_points.hpp"

#include <cmath>
#include <map>
#include <utility>

namespace weft::lab {

namespace {

/// Returns the geometric mean of two sizes, rounded down.
std::uint64_t geometric_mean(std::uint64_t low, std::uint64_t high) {
    return static_cast<std::uint64_t>(
        std::sqrt(static_cast<double>(low) * static_cast<double>(high)));
}

}  // namespace

std::vector<plan::TunedChoice> choices_of(std::span<const TunedPoint> points) {
    std::map<std::pair<plan::TunedCase, std::uint64_t>, const TunedPoint*> in_order;
    for (const TunedPoint& point : points) in_order[{point.of, point.bytes}] = &point;
    std::vector<plan::TunedChoice> choices;
    for (const auto& [key, point] : in_order) {
        const std::uint64_t bytes = point->bytes;
        plan::TunedChoice next{.of = point->of,
                               .from_bytes = bytes == 0 ? 0 : bytes / kReach + 1,
                               .to_bytes = bytes * kReach,
                               .algorithm = point->algorithm,
                               .median_us = point->median_us};
        if (!choices.empty() && choices.back().of == point->of) {
            plan::TunedChoice& last = choices.back();
            const std::uint64_t last_bytes = last.to_bytes / kReach;
            if (last.to_bytes + 1 >= next.from_bytes) {
                const std::uint64_t boundary = geometric_mean(last_bytes, bytes);
                last.to_bytes = boundary;
                next.from_bytes = boundary + 1;
                if (last.algorithm == next.algorithm) {
                    next.from_bytes = last.from_bytes;
                    choices.pop_back();
                }
            }
        }
        choices.push_back(std::move(next));
    }
    return choices;
}

}  // namespace weft::lab
