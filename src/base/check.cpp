// SPDX-License-Identifier: BSD-3-Clause
#include "base/check.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace weft::base {

std::string join_values(fmt::format_args values, std::size_t count) {
    std::string format;
    for (std::size_t i = 0; i < count; ++i) format += i == 0 ? "{}" : ", {}";
    return fmt::vformat(format, values);
}

void check_failed(const char* expression, const char* file, int line, std::string_view values) {
    std::fprintf(stderr, "weft: check failed: %s at %s:%d%s%.*s\n", expression, file, line,
                 values.empty() ? "" : " with ", static_cast<int>(values.size()), values.data());
    std::abort();
}

}  // namespace weft::base
