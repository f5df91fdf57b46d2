// SPDX-License-Identifier: BSD-3-Clause
// full_mode.hpp - whether the long forms of tests were asked for: WEFT_TESTS_FULL, the one reader.
#pragma once

#include <cstdlib>
#include <string_view>

namespace weft::test {

/// Empty and "0" mean off, as if it were not set.
inline bool full_mode() {
    const char* value = std::getenv("WEFT_TESTS_FULL");
    return value != nullptr && !std::string_view(value).empty() && std::string_view(value) != "0";
}

}  // namespace weft::test
