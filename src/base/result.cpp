// SPDX-License-Identifier: BSD-3-Clause
#include "base/result.hpp"

#include <fmt/format.h>

namespace weft::base {

Failure Failure::within(std::string_view context) const {
    return {status, fmt::format("{}: {}", context, text)};
}

Failure fail_with(Status status, fmt::string_view format, fmt::format_args arguments) {
    return {status, fmt::vformat(format, arguments)};
}

}  // namespace weft::base
