// SPDX-License-Identifier: BSD-3-Clause
// form.hpp - is a set of programs well-formed? What can be seen without executing anything.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/schedule/program.hpp"

namespace weft::plan {

/// Of one program: empty, or what is malformed and where.
[[nodiscard]] std::string malformed(const Program& program);

/// The name of a header field that is not as in the first program, or empty.
[[nodiscard]] std::string_view unlike(const Program& program, const Program& first);

/// Empty, or what is malformed and where: lists out of range, fields that have no meaning where
/// they stand, header fields that are not the same. execute.hpp relies on all of it.
[[nodiscard]] std::string malformed(std::span<const Program> programs);

}  // namespace weft::plan
