// SPDX-License-Identifier: BSD-3-Clause
#include "base/element_types.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/suggestion.hpp"

namespace weft::base {
namespace {

template <class Value, class Index>
struct Pair {
    Value value;
    Index index;
};

struct ElementType {
    std::string_view name;
    std::size_t bytes;
};
// The tables have the order of the enumerations.
// clang-format off
constexpr std::array<ElementType, kBuiltinTypes + 1> kTypes{{
    {"int8", 1}, {"int16", 2}, {"int32", 4}, {"int64", 8},
    {"uint8", 1}, {"uint16", 2}, {"uint32", 4}, {"uint64", 8},
    {"float", sizeof(float)}, {"double", sizeof(double)}, {"longdouble", sizeof(long double)},
    {"cfloat", 2 * sizeof(float)}, {"cdouble", 2 * sizeof(double)}, {"bool", sizeof(bool)},
    {"float16", 2}, {"bfloat16", 2},
    {"float_int", sizeof(Pair<float, int>)}, {"double_int", sizeof(Pair<double, int>)},
    {"int16_int", sizeof(Pair<std::int16_t, int>)}, {"int32_int", sizeof(Pair<std::int32_t, int>)},
    {"int64_int", sizeof(Pair<std::int64_t, int>)},
    {"longdouble_int", sizeof(Pair<long double, int>)},
    {"double_int64", sizeof(Pair<double, std::int64_t>)},
    {"int64_int64", sizeof(Pair<std::int64_t, std::int64_t>)},
    {"user", 0},
}};
// clang-format on
constexpr std::array<std::string_view, kBuiltinOps + 1> kOpNames = {
    "sum",  "prod", "min",  "max",    "land",   "lor",       "lxor",
    "band", "bor",  "bxor", "minloc", "maxloc", "exact_sum", "user"};
constexpr auto kTypeNames = [] {
    std::array<std::string_view, kTypes.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = kTypes[i].name;
    return names;
}();

/// Returns the index of `name` in `names`; ignores the last entry, "user", which is not built in.
/// `what`: noun for the failure, "element type" or "operation".
Result<std::size_t> find_name(std::span<const std::string_view> names, std::string_view name,
                              std::string_view what) {
    const auto known = names.first(names.size() - 1);
    const auto found = std::ranges::find(known, name);
    if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
    return fail(Status::argument, "unknown {} '{}'; known: {}{}", what, name, fmt::join(known, " "),
                did_you_mean(name, known));
}

}  // namespace

std::string_view name_of(Type type) {
    return kTypeNames[static_cast<std::size_t>(type)];
}
std::string_view name_of(Op op) {
    return kOpNames[static_cast<std::size_t>(op)];
}
std::size_t size_of(Type type) {
    return kTypes[static_cast<std::size_t>(type)].bytes;
}

std::span<const std::string_view> type_names() {
    return std::span(kTypeNames).first(kBuiltinTypes);
}
std::span<const std::string_view> op_names() {
    return std::span(kOpNames).first(kBuiltinOps);
}

Result<Type> parse_type(std::string_view name) {
    return static_cast<Type>(WEFT_TRY(find_name(kTypeNames, name, "element type")));
}

Result<Op> parse_op(std::string_view name) {
    return static_cast<Op>(WEFT_TRY(find_name(kOpNames, name, "operation")));
}

}  // namespace weft::base
