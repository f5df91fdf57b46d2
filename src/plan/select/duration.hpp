// SPDX-License-Identifier: BSD-3-Clause
// duration.hpp - parses decimal nanoseconds into whole picoseconds and femtoseconds.
//
// Holds    Decimal digits are read directly, not through binary fractions, so "0.4" is exactly 400
//          picoseconds. Digits beyond the unit are an error and not rounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "plan/select/model.hpp"

namespace weft::plan {

/// Parses text such as "500" or "103.2": at most three digits after the point, at most
/// 10^9 (a second).
[[nodiscard]] base::Result<Time> parse_nanoseconds(std::string_view text);
/// Parses text such as "0.4" or "0.0125": at most six digits after the point, at most 10^6.
[[nodiscard]] base::Result<std::int64_t> parse_nanoseconds_per_byte(std::string_view text);

/// Returns the number as parse_nanoseconds_per_byte() reads it, also from a JSON file: six digits
/// after the point, no sign, and 0 for values below 0.0001.
[[nodiscard]] double readable_nanoseconds_per_byte(double value);

}  // namespace weft::plan
