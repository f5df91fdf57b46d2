// SPDX-License-Identifier: BSD-3-Clause
#include "base/units.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace weft::base {
namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kSecond = 1'000'000'000;

/// Returns the value of a text of digits; nullopt: empty, another character, or too large.
std::optional<std::uint64_t> digits(std::string_view text) {
    if (text.empty() || !is_digit(text.front())) return std::nullopt;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Returns the number of bits by which a suffix shifts a size, or nullopt for other characters.
std::optional<unsigned> suffix_shift(char c) {
    constexpr std::string_view kSuffixes = "KkMmGg";
    const std::size_t found = kSuffixes.find(c);
    if (found == std::string_view::npos) return std::nullopt;
    return static_cast<unsigned>(10 * (found / 2 + 1));
}

/// Parses FROM:TO or FROM:TO:xFACTOR. Returns all sizes of the range.
Result<std::vector<std::uint64_t>> parse_sweep(std::string_view text) {
    const std::size_t first = text.find(':');
    const std::size_t second = text.find(':', first + 1);
    const auto from = WEFT_TRY(parse_bytes(text.substr(0, first)));
    const bool has_factor = second != std::string_view::npos;
    const auto to =
        WEFT_TRY(parse_bytes(text.substr(first + 1, has_factor ? second - first - 1 : second)));
    std::uint64_t factor = 2;
    if (has_factor) {
        const std::string_view last = text.substr(second + 1);
        const auto value = last.starts_with('x') ? digits(last.substr(1)) : std::nullopt;
        if (!value || *value < 2)
            return fail(Status::argument, "\"{}\" is not a factor; expected x2 or more", last);
        factor = *value;
    }
    if (from == 0 || from > to)
        return fail(Status::argument,
                    "\"{}\" is not a range of sizes; expected FROM:TO with 1 <= FROM <= TO", text);
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t size = from; size <= to; size *= factor) {
        sizes.push_back(size);
        if (size > to / factor) break;
    }
    return sizes;
}

/// Parses one size, or a range of sizes.
Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text) {
    if (text.find(':') != std::string_view::npos) return parse_sweep(text);
    const auto size = WEFT_TRY(parse_bytes(text));
    return std::vector{size};
}

/// Parses a decimal number up to `whole_max` as a whole multiple of 10^-places.
Result<std::int64_t> parse_decimal(std::string_view text, std::size_t places,
                                   std::uint64_t whole_max) {
    const std::size_t point = std::min(text.find('.'), text.size());
    const std::string whole(text.substr(0, point));
    std::string decimals(text.substr(std::min(point + 1, text.size())));
    const std::string all = whole + decimals;
    if (all.empty() || !std::ranges::all_of(all, is_digit))
        return fail(Status::argument, "'{}' is not a number of nanoseconds, as in 103.2", text);
    if (!whole.empty() && digits(whole).value_or(kLargest) > whole_max)
        return fail(Status::argument, "'{}' is more than {}", text, whole_max);
    if (decimals.find_first_not_of('0', places) != std::string::npos)
        return fail(Status::argument, "'{}' has more than {} digits after the point", text, places);
    decimals.resize(places, '0');
    return static_cast<std::int64_t>(*digits(whole + decimals));
}

}  // namespace

std::vector<std::string_view> split_list(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    if (text.empty()) return parts;
    for (;;) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
    std::string_view number = text;
    unsigned shift = 0;
    // "64KiB" is valid and means 64K. "64KB" is refused, because KB may mean 1000 bytes.
    const bool spelt_out = number.ends_with("iB");
    if (spelt_out) number.remove_suffix(2);
    const auto suffix = number.empty() ? std::nullopt : suffix_shift(number.back());
    if (suffix) {
        shift = *suffix;
        number.remove_suffix(1);
    }
    const auto value = digits(number);
    if (!value || *value > (kLargest >> shift) || (spelt_out && !suffix))
        return fail(Status::argument,
                    "\"{}\" is not a size; expected bytes below 16 EiB such as 8, 64K, 1M or 2G "
                    "(K, M, G are 1024-based; KiB, MiB, GiB are the same)",
                    text);
    return *value << shift;
}

Result<std::vector<std::uint64_t>> parse_bytes_list(std::string_view text) {
    const auto parts = split_list(text);
    if (parts.empty())
        return fail(Status::argument,
                    "the list is empty; expected sizes such as 8,64K,1M or 8:4M:x2");
    std::vector<std::uint64_t> values;
    values.reserve(parts.size());
    for (std::size_t entry = 0; entry < parts.size(); ++entry) {
        const auto sizes = parse_sizes(parts[entry]);
        if (!sizes)
            return sizes.failure().within(fmt::format("entry {} of \"{}\"", entry + 1, text));
        values.insert(values.end(), sizes->begin(), sizes->end());
    }
    return values;
}

std::string format_bytes(std::uint64_t bytes) {
    for (const char suffix : {'G', 'M', 'K'}) {
        const unsigned shift = *suffix_shift(suffix);
        if (bytes != 0 && (bytes & ((std::uint64_t{1} << shift) - 1)) == 0)
            return fmt::format("{}{}", bytes >> shift, suffix);
    }
    return fmt::format("{}", bytes);
}

Result<std::uint64_t> parse_count(std::string_view text, CountRange range) {
    const auto value = digits(text);
    if (value && *value >= range.min && *value <= range.max) return *value;
    if (range.max == kLargest)
        return fail(Status::argument, "\"{}\" is not a whole number of {} or more", text,
                    range.min);
    return fail(Status::argument, "\"{}\" is not a whole number from {} to {}", text, range.min,
                range.max);
}

Result<std::uint64_t> parse_seconds(std::string_view text) {
    const std::size_t point = text.find('.');
    const auto whole = digits(text.substr(0, point));
    std::optional<std::uint64_t> rest = 0;
    if (point != std::string_view::npos) {
        const std::string_view decimals = text.substr(point + 1);
        rest = digits(decimals.size() <= 9 ? decimals : std::string_view{});
        for (std::size_t i = decimals.size(); rest && i < 9; ++i) *rest *= 10;
    }
    if (!whole || !rest || *whole > kLargest / kSecond - 1)
        return fail(Status::argument, "\"{}\" is not a time in seconds such as 30 or 0.25", text);
    return *whole * kSecond + *rest;
}

std::string format_seconds(std::uint64_t nanoseconds) {
    std::string text = fmt::format("{}", nanoseconds / kSecond);
    if (nanoseconds % kSecond == 0) return text;
    std::string decimals = fmt::format("{:09}", nanoseconds % kSecond);
    while (decimals.back() == '0') decimals.pop_back();
    return text + "." + decimals;
}

Result<std::int64_t> parse_nanoseconds(std::string_view text) {
    return parse_decimal(text, 3, 1'000'000'000);
}

Result<std::int64_t> parse_nanoseconds_per_byte(std::string_view text) {
    return parse_decimal(text, 6, 1'000'000);
}

}  // namespace weft::base
