// SPDX-License-Identifier: BSD-3-Clause
#include "plan/simulate/duration.hpp"

#include <charconv>
#include <cstddef>
#include <string>

namespace weft::plan {

namespace {

/// A number with its point moved by as much as its exponent says, as in 8.3e-05, which is how JSON
/// has small ones; empty if the exponent is no number or out of all proportion.
std::string without_exponent(std::string_view text) {
    constexpr int kExponentMax = 20;
    const std::size_t end = text.find_first_of("eE");
    std::string digits(text.substr(0, end));
    if (end == std::string_view::npos) return digits;
    std::string_view power = text.substr(end + 1);
    if (power.starts_with("+") && !power.starts_with("+-")) power.remove_prefix(1);
    int exponent = 0;
    const auto read = std::from_chars(power.data(), power.data() + power.size(), exponent);
    if (read.ec != std::errc{} || read.ptr != power.data() + power.size()) return "";
    if (exponent < -kExponentMax || exponent > kExponentMax) return "";
    std::size_t point = digits.find('.');
    if (point == std::string::npos)
        point = digits.size();
    else
        digits.erase(point, 1);
    if (digits.empty()) return "";
    const auto places = static_cast<std::size_t>(kExponentMax);
    digits = std::string(places, '0') + digits + std::string(places, '0');
    point += places;
    return digits.insert(exponent < 0 ? point - static_cast<std::size_t>(-exponent)
                                      : point + static_cast<std::size_t>(exponent),
                         ".");
}

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
    for (const char c : without_exponent(text)) {
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

}  // namespace weft::plan
