// SPDX-License-Identifier: BSD-3-Clause
// spec.hpp - name and parameters of an algorithm: command line, environment, tuning files, API.
//
// Idea     spec     := schedule | name [ ':' key '=' value { ',' key '=' value } ]
//          value    := '(' spec ')' | letters, digits, '_', '.', '+', '-'
//          name     := a letter, then letters, digits, '_', '-'; a key has the same form
//          schedule := stages of recursive multiplying (schedule.hpp), comma separated
//          A text that starts with one of a c e m n and a digit is a schedule, else a name.
// Holds    print(parse(text)) == text. Errors name the character and the expected text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "collectives/notation/schedule.hpp"

namespace weft::collectives {

struct SpecParameter;

struct AlgorithmSpec {
    std::string name;   ///< empty if this is a schedule in the notation
    Schedule schedule;  ///< empty if this is a name
    std::vector<SpecParameter> parameters;
    std::size_t position = 1;  ///< 1-based position of its first character in the parsed text

    [[nodiscard]] bool is_schedule() const { return name.empty(); }
    [[nodiscard]] const SpecParameter* find(std::string_view key) const;

    /// Compares all members except positions.
    friend bool operator==(const AlgorithmSpec& a, const AlgorithmSpec& b);
};

struct SpecParameter {
    std::string key;
    std::string value;                  ///< empty if nested
    std::vector<AlgorithmSpec> nested;  ///< the spec in parentheses, if any
    std::size_t position = 1;           ///< position of the value, or of the nested spec

    friend bool operator==(const SpecParameter& a, const SpecParameter& b) {
        return a.key == b.key && a.value == b.value && a.nested == b.nested;
    }
};

[[nodiscard]] base::Result<AlgorithmSpec> parse_spec(std::string_view text);
[[nodiscard]] std::string print(const AlgorithmSpec& spec);

struct NumberRange {
    std::int64_t fallback = 0;
    std::int64_t least = 0;
    std::int64_t most = 0;
};
/// Returns the integer given for `key`, or range.fallback. A failure names the position and range.
[[nodiscard]] base::Result<std::int64_t> number_parameter(const AlgorithmSpec& spec,
                                                          std::string_view key, NumberRange range);
/// Like number_parameter(), for up to three decimal places. Range and result are in thousandths.
[[nodiscard]] base::Result<std::int64_t> decimal_parameter(const AlgorithmSpec& spec,
                                                           std::string_view key, NumberRange range);

}  // namespace weft::collectives
