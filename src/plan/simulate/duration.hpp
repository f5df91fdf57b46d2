// SPDX-License-Identifier: BSD-3-Clause
// duration.hpp - nanoseconds as people write them, read as whole picoseconds and femtoseconds.
//
// Holds    Decimal digits are read as they stand, without a detour over binary fractions, so "0.4"
//          is 400 and not almost 400. More digits than the unit holds are refused, not rounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "plan/simulate/model.hpp"

namespace weft::plan {

/// "500", "103.2": at most three digits after the point, at most 10^9 (a second).
[[nodiscard]] base::Result<Time> parse_nanoseconds(std::string_view text);
/// "0.4", "0.0125": at most six digits after the point, at most 10^6.
[[nodiscard]] base::Result<std::int64_t> parse_nanoseconds_per_byte(std::string_view text);

/// The number as parse_nanoseconds_per_byte() reads it again, also out of a file of JSON: six
/// digits after the point, no sign, and 0 for less than 0.0001.
[[nodiscard]] double readable_nanoseconds_per_byte(double value);

}  // namespace weft::plan
