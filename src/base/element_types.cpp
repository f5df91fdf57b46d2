// SPDX-License-Identifier: BSD-3-Clause
#include "base/element_types.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace weft::base {

namespace {

// In the order of the enumerations.
constexpr std::array<std::string_view, kBuiltinTypes + 1> kTypeNames = {
    "int8",       "int16",          "int32",        "int64",       "uint8",
    "uint16",     "uint32",         "uint64",       "float",       "double",
    "longdouble", "cfloat",         "cdouble",      "bool",        "float16",
    "bfloat16",   "float_int",      "double_int",   "int16_int",   "int32_int",
    "int64_int",  "longdouble_int", "double_int64", "int64_int64", "user"};
template <class Value, class Index>
struct Pair {
    Value value;
    Index index;
};
constexpr std::array<std::size_t, kBuiltinTypes + 1> kTypeBytes = {
    1,
    2,
    4,
    8,
    1,
    2,
    4,
    8,
    sizeof(float),
    sizeof(double),
    sizeof(long double),
    2 * sizeof(float),
    2 * sizeof(double),
    sizeof(bool),
    2,
    2,
    sizeof(Pair<float, int>),
    sizeof(Pair<double, int>),
    sizeof(Pair<std::int16_t, int>),
    sizeof(Pair<std::int32_t, int>),
    sizeof(Pair<std::int64_t, int>),
    sizeof(Pair<long double, int>),
    sizeof(Pair<double, std::int64_t>),
    sizeof(Pair<std::int64_t, std::int64_t>),
    0};
constexpr std::array<std::string_view, kBuiltinOps + 1> kOpNames = {
    "sum",  "prod", "min",  "max",    "land",   "lor", "lxor",
    "band", "bor",  "bxor", "minloc", "maxloc", "user"};

/// Place of `name` among the built-in names (all but the last).
Result<std::size_t> find_name(std::span<const std::string_view> names, std::string_view name,
                              std::string_view what) {
    std::string known;
    for (std::size_t i = 0; i + 1 < names.size(); ++i) {
        if (names[i] == name) return i;
        known += fmt::format("{}{}", known.empty() ? "" : " ", names[i]);
    }
    return fail(Status::argument, "'{}' is not {}; there are {}", name, what, known);
}

}  // namespace

std::string_view name_of(Type type) {
    return kTypeNames[static_cast<std::size_t>(type)];
}
std::string_view name_of(Op op) {
    return kOpNames[static_cast<std::size_t>(op)];
}
std::size_t size_of(Type type) {
    return kTypeBytes[static_cast<std::size_t>(type)];
}

Result<Type> parse_type(std::string_view name) {
    const Result<std::size_t> found = find_name(kTypeNames, name, "an element type");
    if (!found) return found.failure();
    return static_cast<Type>(*found);
}

Result<Op> parse_op(std::string_view name) {
    const Result<std::size_t> found = find_name(kOpNames, name, "an operation");
    if (!found) return found.failure();
    return static_cast<Op>(*found);
}

}  // namespace weft::base
