// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/duration.hpp"

#include <cmath>

namespace weft::plan {

namespace {

/// Reads a decimal number as a whole multiple of 10^-digits.
base::Result<std::int64_t> parse_decimal(std::string_view text, int digits,
                                         std::int64_t whole_max) {
    const auto refuse = [text] {
        return base::fail(Status::argument, "'{}' is not a number of nanoseconds, as in 103.2",
                          text);
    };
    std::int64_t value = 0;
    int fraction = -1;  // digits after the point so far
    bool any = false;
    for (const char c : text) {
        if (c == '.') {
            if (fraction >= 0) return refuse();
            fraction = 0;
            continue;
        }
        if (c < '0' || c > '9') return refuse();
        any = true;
        if (fraction >= 0 && ++fraction > digits) {
            if (c == '0') continue;
            return base::fail(Status::argument, "'{}' has more than {} digits after the point",
                              text, digits);
        }
        value = value * 10 + (c - '0');
        if (fraction < 0 && value > whole_max)
            return base::fail(Status::argument, "'{}' is more than {}", text, whole_max);
    }
    if (!any) return refuse();
    for (int i = fraction < 0 ? 0 : fraction; i < digits; ++i) value *= 10;
    return value;
}

}  // namespace

base::Result<Time> parse_nanoseconds(std::string_view text) {
    return parse_decimal(text, 3, 1'000'000'000);
}

base::Result<std::int64_t> parse_nanoseconds_per_byte(std::string_view text) {
    return parse_decimal(text, 6, 1'000'000);
}

double readable_nanoseconds_per_byte(double value) {
    constexpr double kLeast = 1e-4;  // smaller values are printed with an exponent
    const double kept = std::round(value * 1e6) / 1e6;
    return kept < kLeast ? 0 : kept;
}

}  // namespace weft::plan
