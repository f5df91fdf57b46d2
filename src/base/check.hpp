// SPDX-License-Identifier: BSD-3-Clause
// check.hpp - WEFT_CHECK: an assertion, always enabled, that prints values and ends the process.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::base {

/// Prints "weft: check failed: ..." with the values to stderr and aborts.
[[noreturn]] void check_failed(const char* expression, const char* file, int line,
                               std::string_view values);

/// Returns `count` values as text, separated by commas.
[[nodiscard]] std::string join_values(fmt::format_args values, std::size_t count);

template <class... Values>
std::string describe_values(const Values&... values) {
    return join_values(fmt::make_format_args(values...), sizeof...(Values));
}

}  // namespace weft::base

/// WEFT_CHECK(condition, value...): aborts and prints the values if the condition is false.
#define WEFT_CHECK(condition, ...)                                                  \
    do {                                                                            \
        if (!(condition)) [[unlikely]]                                              \
            ::weft::base::check_failed(#condition, __FILE__, __LINE__,              \
                                       ::weft::base::describe_values(__VA_ARGS__)); \
    } while (false)
