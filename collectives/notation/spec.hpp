// SPDX-License-Identifier: BSD-3-Clause
// spec.hpp - how an algorithm is named everywhere: command line, environment, tuning files, API.
//
// Idea     spec     := schedule | name [ ':' key '=' value { ',' key '=' value } ]
//          value    := '(' spec ')' | letters, digits, '_', '.', '+', '-'
//          name     := a letter, then letters, digits, '_', '-'; key likewise
//          schedule := stages of recursive multiplying (schedule.hpp), comma separated
//          A name never looks like a stage: a stage is one of the letters a c e m n and a digit.
// Holds    print(parse(text)) == text. Errors say the character and what was expected there.
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
    std::size_t position = 1;  ///< where it starts in the text it was read from

    [[nodiscard]] bool is_schedule() const { return name.empty(); }
    [[nodiscard]] const SpecParameter* find(std::string_view key) const;

    /// Equal in meaning: positions do not count.
    friend bool operator==(const AlgorithmSpec& a, const AlgorithmSpec& b);
};

struct SpecParameter {
    std::string key;
    std::string value;                  ///< empty if nested
    std::vector<AlgorithmSpec> nested;  ///< one spec if the value stood in parentheses, else none
    std::size_t position = 1;           ///< of the value (of the nested spec, if it is one)

    friend bool operator==(const SpecParameter& a, const SpecParameter& b) {
        return a.key == b.key && a.value == b.value && a.nested == b.nested;
    }
};

[[nodiscard]] base::Result<AlgorithmSpec> parse_spec(std::string_view text);
[[nodiscard]] std::string print(const AlgorithmSpec& spec);

/// Bounds of a numeric parameter, and its value if it is not given.
struct NumberRange {
    std::int64_t fallback = 0;
    std::int64_t least = 0;
    std::int64_t most = 0;
};
/// The whole number given for `key`; a failure names the character and the bound.
[[nodiscard]] base::Result<std::int64_t> number_parameter(const AlgorithmSpec& spec,
                                                          std::string_view key, NumberRange range);
/// The same of a number with up to three decimal places; the range and the answer are thousandths.
[[nodiscard]] base::Result<std::int64_t> decimal_parameter(const AlgorithmSpec& spec,
                                                           std::string_view key, NumberRange range);

}  // namespace weft::collectives
