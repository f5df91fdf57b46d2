// SPDX-License-Identifier: BSD-3-Clause
// units.hpp - sizes, counts and lists of them as people write them: "64K", "8,64K,1M", "2,4,8".
//
// Holds    Suffixes K, M, G mean 1024, 1024^2, 1024^3 bytes. What cannot be read is a Failure
//          (Status::argument) that quotes the text and says what was expected; callers put the
//          argument's name in front with Failure::within().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace weft::base {

/// The parts between commas; no parts for an empty text, empty parts are kept.
[[nodiscard]] std::vector<std::string_view> split_list(std::string_view text);

/// "8", "64K", "1M", "2G".
[[nodiscard]] Result<std::uint64_t> parse_bytes(std::string_view text);
/// Each entry may be a range: 8:4M for 8, 16, 32 and so on, 8:4M:x4 for every second of these.
[[nodiscard]] Result<std::vector<std::uint64_t>> parse_bytes_list(std::string_view text);
/// The shortest form that parse_bytes reads back: 65536 is "64K", 1000 is "1000".
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

struct CountRange {
    std::uint64_t min = 0;
    std::uint64_t max = ~std::uint64_t{0};
};
/// Decimal digits only, within the range.
[[nodiscard]] Result<std::uint64_t> parse_count(std::string_view text, CountRange range = {});

/// Seconds, "30" or "0.25", as nanoseconds.
[[nodiscard]] Result<std::uint64_t> parse_seconds(std::string_view text);
/// The shortest form that parse_seconds reads back.
[[nodiscard]] std::string format_seconds(std::uint64_t nanoseconds);

}  // namespace weft::base
