// SPDX-License-Identifier: BSD-3-Clause
// tuned_points.hpp - measured choices of algorithms from measurements of single sizes.
//
// Idea     A point is a measurement: the fastest of the tried algorithms for one size. Choices are
//          ranges of sizes derived from points. Neighbors with the same winner merge; the boundary
//          between different winners is the geometric mean of their sizes. A point is valid up to a
//          factor of kReach from its size.
// Next     plan/select/tuning.hpp for the lookup.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/select/tuning.hpp"

namespace weft::lab {

struct TunedPoint {
    plan::TunedCase of;
    std::uint64_t bytes = 0;  ///< size of the buffer, or of a block
    std::string algorithm;    ///< spec of the fastest algorithm
    double median_us = 0;
};

/// Largest factor between the size of a point and a size that uses it.
inline constexpr std::uint64_t kReach = 4;

/// Returns the choices in order of case and size. If these are equal, uses the last point.
[[nodiscard]] inline std::vector<plan::TunedChoice> choices_of(std::span<const TunedPoint> points) {
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
                const auto boundary = static_cast<std::uint64_t>(
                    std::sqrt(static_cast<double>(last_bytes) * static_cast<double>(bytes)));
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
