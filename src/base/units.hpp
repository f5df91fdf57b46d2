// SPDX-License-Identifier: BSD-3-Clause
// units.hpp - text forms of sizes, counts and their lists: "64K", "8,64K,1M", "2,4,8".
//
// Holds    Suffixes K, M, G mean 1024, 1024^2, 1024^3 bytes. A failure quotes the text and the
//          expected form. Callers prepend the argument's name with Failure::within().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace weft::base {

[[nodiscard]] constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Returns the parts between separators. An empty text has no parts; empty parts are kept.
[[nodiscard]] std::vector<std::string_view> split_list(std::string_view text, char separator = ',');

/// Parses texts such as "8", "64K", "1M" or "2G".
Result<std::uint64_t> parse_bytes(std::string_view text);
/// Parses a list of sizes. An entry may be a range: 8:4M for 8, 16 ..., or 8:4M:x4 for 8, 32 ...
Result<std::vector<std::uint64_t>> parse_bytes_list(std::string_view text);
/// Returns the shortest form that parse_bytes() accepts: 65536 is "64K", 1000 is "1000".
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

struct CountRange {
    std::uint64_t min = 0;
    std::uint64_t max = ~std::uint64_t{0};
};
/// Parses decimal digits; the value must be in the range.
Result<std::uint64_t> parse_count(std::string_view text, CountRange range = {});

/// Parses seconds, such as "30" or "0.25", to nanoseconds.
Result<std::uint64_t> parse_seconds(std::string_view text);
/// Returns the shortest form that parse_seconds() accepts.
[[nodiscard]] std::string format_seconds(std::uint64_t nanoseconds);

/// Parses nanoseconds, such as "500" or "103.2", to picoseconds: at most three digits after the
/// point, at most 10^9 (a second). Does not compute in floating point, so "0.4" is exactly 400.
Result<std::int64_t> parse_nanoseconds(std::string_view text);
/// Parses nanoseconds for each byte, such as "0.0125", to femtoseconds: six digits, at most 10^6.
Result<std::int64_t> parse_nanoseconds_per_byte(std::string_view text);

}  // namespace weft::base
