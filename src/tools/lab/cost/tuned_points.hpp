// SPDX-License-Identifier: BSD-3-Clause
// tuned_points.hpp - measured choices of algorithms from measurements of single sizes.
//
// Idea     A point is a measurement: the fastest of the tried algorithms for one size. Choices are
//          ranges of sizes derived from points. Neighbors with the same winner merge; the boundary
//          between different winners is the geometric mean of their sizes. A point is valid up to a
//          factor of kReach from its size.
// Next     plan/select/tuning.hpp for the lookup.
#pragma once

#include <cstdint>
#include <span>
#include <string>
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
[[nodiscard]] std::vector<plan::TunedChoice> choices_of(std::span<const TunedPoint> points);

}  // namespace weft::lab
