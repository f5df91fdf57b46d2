// SPDX-License-Identifier: BSD-3-Clause
#include "perf/apps/cg/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace apps {

namespace {

constexpr std::string_view kSpace = " \t\r";
/// Largest number of rows and of columns.
constexpr std::int64_t kSizeMax = std::numeric_limits<std::int32_t>::max();

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    while (true) {
        const std::size_t start = line.find_first_not_of(kSpace);
        if (start == std::string_view::npos) return words;
        line.remove_prefix(start);
        const std::size_t end = std::min(line.find_first_of(kSpace), line.size());
        words.push_back(line.substr(0, end));
        line.remove_prefix(end);
    }
}

std::string lower(std::string_view word) {
    std::string text(word);
    for (char& c : text) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
}

/// Converts a whole word to a number; nullopt if it is not a number.
template <class T>
std::optional<T> number(std::string_view word) {
    if (word.starts_with('+')) word.remove_prefix(1);
    T value{};
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (code != std::errc() || end != word.data() + word.size()) return std::nullopt;
    return value;
}

}  // namespace

MatrixMarketReader::MatrixMarketReader(std::istream& in, std::string name)
    : in_(in), name_(std::move(name)) {
    read_banner();
    read_size();
}

FormatError MatrixMarketReader::error(std::int64_t line, std::string_view text) const {
    if (line == 0) return FormatError(fmt::format("{}: {}", name_, text));
    return FormatError(fmt::format("{}:{}: {}", name_, line, text));
}

bool MatrixMarketReader::next_line() {
    while (std::getline(in_, text_)) {
        ++line_;
        if (!text_.starts_with('%') && text_.find_first_not_of(kSpace) != std::string::npos)
            return true;
    }
    if (in_.bad()) throw error(0, "cannot be read");
    return false;
}

void MatrixMarketReader::read_banner() {
    std::getline(in_, text_);
    line_ = 1;
    const auto words = words_of(text_);
    constexpr std::string_view kForm =
        "expected \"%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric\"";
    const auto is_one_of = [&](std::size_t word, std::initializer_list<std::string_view> known) {
        if (std::ranges::find(known, lower(words[word])) == known.end())
            throw error_here(fmt::format("\"{}\" is unknown, {}", words[word], kForm));
        return lower(words[word]);
    };
    if (words.size() != 5 || lower(words[0]) != "%%matrixmarket")
        throw error_here(fmt::format("invalid banner, {}", kForm));
    is_one_of(1, {"matrix"});
    is_one_of(2, {"coordinate"});
    const std::string field = is_one_of(3, {"real", "integer", "pattern"});
    field_ = field == "real" ? Field::real : field == "integer" ? Field::integer : Field::pattern;
    symmetric_ = is_one_of(4, {"general", "symmetric"}) == "symmetric";
}

void MatrixMarketReader::read_size() {
    if (!next_line()) throw error(0, "ends before the line \"rows columns entries\"");
    const auto words = words_of(text_);
    std::array<std::int64_t*, 3> sizes{&rows_, &columns_, &listed_};
    if (words.size() != sizes.size())
        throw error_here(fmt::format("{} words, expected \"rows columns entries\"", words.size()));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::int64_t limit = i == 2 ? rows_ * columns_ : kSizeMax;
        const auto size = number<std::int64_t>(words[i]);
        if (!size || *size < 0 || *size > limit)
            throw error_here(fmt::format("\"{}\" is not a size, expected 0..{}", words[i], limit));
        *sizes[i] = *size;
    }
    if (symmetric_ && rows_ != columns_)
        throw error_here(
            fmt::format("{} rows and {} columns, expected equal numbers in a symmetric matrix",
                        rows_, columns_));
}

std::int64_t MatrixMarketReader::read_index(std::string_view word, std::string_view kind,
                                            std::int64_t limit) const {
    const auto index = number<std::int64_t>(word);
    if (!index || *index < 1 || *index > limit)
        throw error_here(fmt::format("\"{}\" is not a {}, expected 1..{}", word, kind, limit));
    return *index - 1;
}

double MatrixMarketReader::read_value(std::string_view word) const {
    if (field_ == Field::integer) {
        const auto value = number<std::int64_t>(word);
        if (!value) throw error_here(fmt::format("\"{}\" is not an integer", word));
        return static_cast<double>(*value);
    }
    const auto value = number<double>(word);
    if (!value || !std::isfinite(*value))
        throw error_here(fmt::format("\"{}\" is not a finite number", word));
    return *value;
}

std::optional<Entry> MatrixMarketReader::next() {
    if (!next_line()) {
        if (read_ == listed_) return std::nullopt;
        throw error(0, fmt::format("ends after {} entries, expected {}", read_, listed_));
    }
    if (read_ == listed_) throw error_here(fmt::format("more than {} entries", listed_));
    const auto words = words_of(text_);
    const std::size_t expected = field_ == Field::pattern ? 2 : 3;
    if (words.size() != expected)
        throw error_here(fmt::format("{} words, expected {}", words.size(),
                                     expected == 2 ? "\"row column\"" : "\"row column value\""));
    Entry entry{.row = read_index(words[0], "row", rows_),
                .column = read_index(words[1], "column", columns_),
                .value = field_ == Field::pattern ? 1.0 : read_value(words[2]),
                .line = line_};
    if (symmetric_ && entry.column > entry.row)
        throw error_here(
            "an entry above the diagonal; a symmetric file lists only the lower triangle");
    ++read_;
    return entry;
}

}  // namespace apps
