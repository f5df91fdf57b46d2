// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/notation/spec.hpp"

#include <algorithm>
#include <charconv>

#include "collectives/notation/cursor.hpp"

namespace weft::collectives {

namespace {

/// Limits recursion, so that a spec cannot overflow the stack.
constexpr int kNestingMax = 32;

bool belongs_to_name(char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '-';
}
bool belongs_to_value(char c) {
    return belongs_to_name(c) || c == '.' || c == '+';
}

/// Parses a whole text of digits. Returns false if it is malformed or too large.
bool parse_digits(std::string_view text, std::int64_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

base::Result<AlgorithmSpec> parse_spec(Cursor& cursor, int depth);

base::Result<std::string> parse_name(Cursor& cursor, std::string_view what) {
    if (!is_letter(cursor.peek()))
        return fail_at(cursor.position(), "expected {} (it begins with a letter), found {}", what,
                       cursor.found());
    return std::string(cursor.take_while(belongs_to_name));
}

base::Result<SpecParameter> parse_parameter(Cursor& cursor, int depth) {
    std::string key = WEFT_TRY(parse_name(cursor, "the name of a parameter"));
    if (!cursor.accept('='))
        return fail_at(cursor.position(), "expected '=' after the parameter {}, found {}", key,
                       cursor.found());
    SpecParameter parameter;
    parameter.key = key;
    if (cursor.accept('(')) {
        parameter.position = cursor.position();
        AlgorithmSpec nested = WEFT_TRY(parse_spec(cursor, depth + 1));
        if (!cursor.accept(')'))
            return fail_at(cursor.position(), "expected ')' after the nested spec, found {}",
                           cursor.found());
        parameter.nested.push_back(std::move(nested));
        return parameter;
    }
    parameter.position = cursor.position();
    parameter.value = cursor.take_while(belongs_to_value);
    if (parameter.value.empty())
        return fail_at(cursor.position(), "expected a value for {}, found {}", key, cursor.found());
    return parameter;
}

base::Result<AlgorithmSpec> parse_spec(Cursor& cursor, int depth) {
    AlgorithmSpec spec;
    spec.position = cursor.position();
    if (depth > kNestingMax)
        return fail_at(cursor.position(), "specs nest deeper than {}", kNestingMax);
    if (schedule_begins(cursor)) {
        spec.schedule = WEFT_TRY(parse_schedule(cursor));
        return spec;
    }
    spec.name = WEFT_TRY(parse_name(cursor, "an algorithm or a stage"));
    if (!cursor.accept(':')) return spec;
    do {
        const std::size_t position = cursor.position();
        SpecParameter parameter = WEFT_TRY(parse_parameter(cursor, depth));
        if (spec.find(parameter.key) != nullptr)
            return fail_at(position, "the parameter {} is given twice", parameter.key);
        spec.parameters.push_back(std::move(parameter));
    } while (cursor.accept(','));
    return spec;
}

}  // namespace

const SpecParameter* AlgorithmSpec::find(std::string_view key) const {
    const auto found = std::ranges::find(parameters, key, &SpecParameter::key);
    return found == parameters.end() ? nullptr : &*found;
}

bool operator==(const AlgorithmSpec& a, const AlgorithmSpec& b) {
    return a.name == b.name && a.schedule == b.schedule && a.parameters == b.parameters;
}

base::Result<AlgorithmSpec> parse_spec(std::string_view text) {
    Cursor cursor(text);
    base::Result<AlgorithmSpec> spec = parse_spec(cursor, 0);
    if (!spec || cursor.at_end()) return spec;
    const char* expected = spec->is_schedule()        ? "',' or the end after a stage"
                           : spec->parameters.empty() ? "':' or the end after the algorithm"
                                                      : "',' or the end after a value";
    return fail_at(cursor.position(), "expected {}, found {}", expected, cursor.found());
}

std::string print(const AlgorithmSpec& spec) {
    if (spec.is_schedule()) return print(spec.schedule);
    std::string text = spec.name;
    char separator = ':';
    for (const SpecParameter& parameter : spec.parameters) {
        text += separator;
        text += parameter.key;
        text += '=';
        text += parameter.nested.empty() ? parameter.value
                                         : '(' + print(parameter.nested.front()) + ')';
        separator = ',';
    }
    return text;
}

base::Result<std::int64_t> number_parameter(const AlgorithmSpec& spec, std::string_view key,
                                            NumberRange range) {
    const SpecParameter* parameter = spec.find(key);
    if (parameter == nullptr) return range.fallback;
    const std::string& text = parameter->value;
    std::int64_t value = 0;
    if (!parse_digits(text, value))
        return fail_at(parameter->position, "{} is not a whole number",
                       text.empty() ? std::string(key) : fmt::format("{}={}", key, text));
    if (value < range.least || value > range.most)
        return fail_at(parameter->position, "{}={} is not in {}..{}", key, value, range.least,
                       range.most);
    return value;
}

base::Result<std::int64_t> decimal_parameter(const AlgorithmSpec& spec, std::string_view key,
                                             NumberRange range) {
    constexpr std::size_t kPlaces = 3;
    const SpecParameter* parameter = spec.find(key);
    if (parameter == nullptr) return range.fallback;
    const std::string& text = parameter->value;
    const std::size_t point = std::min(text.find('.'), text.size());
    const std::string fraction = text.substr(std::min(point + 1, text.size()));
    std::string digits = text.substr(0, point) + fraction;
    if (fraction.size() <= kPlaces) digits.append(kPlaces - fraction.size(), '0');
    std::int64_t value = 0;
    if (point == 0 || point + 1 == text.size() || fraction.size() > kPlaces ||
        !parse_digits(digits, value))
        return fail_at(parameter->position, "{}={} is not a number with up to three decimal places",
                       key, text);
    if (value < range.least || value > range.most)
        return fail_at(parameter->position, "{}={} is not in {}..{}", key, text,
                       static_cast<double>(range.least) / 1000,
                       static_cast<double>(range.most) / 1000);
    return value;
}

}  // namespace weft::collectives
