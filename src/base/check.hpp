// SPDX-License-Identifier: BSD-3-Clause
// check.hpp - WEFT_CHECK: our own bugs end the process with the values printed; always on.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace weft::base {

/// Prints "weft: check failed: ..." with the values to stderr and aborts.
[[noreturn]] void check_failed(const char* expression, const char* file, int line,
                               std::string_view values);

template <class... Values>
std::string describe_values(const Values&... values) {
    std::string text;
    ((text += fmt::format("{}{}", text.empty() ? "" : ", ", values)), ...);
    return text;
}

}  // namespace weft::base

/// WEFT_CHECK(condition, value...): aborts with the values if the condition does not hold.
#define WEFT_CHECK(condition, ...)                                                  \
    do {                                                                            \
        if (!(condition)) [[unlikely]]                                              \
            ::weft::base::check_failed(#condition, __FILE__, __LINE__,              \
                                       ::weft::base::describe_values(__VA_ARGS__)); \
    } while (false)
