// SPDX-License-Identifier: BSD-3-Clause
#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace weft::base {

void check_failed(const char* expression, const char* file, int line, std::string_view values) {
    std::fprintf(stderr, "weft: check failed: %s at %s:%d%s%.*s\n", expression, file, line,
                 values.empty() ? "" : " with ", static_cast<int>(values.size()), values.data());
    std::abort();
}

}  // namespace weft::base
