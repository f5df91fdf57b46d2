// SPDX-License-Identifier: BSD-3-Clause
// form.hpp - checks that programs are well-formed, without executing them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/schedule/program.hpp"

namespace weft::plan {

/// Returns the defect of one program and its location; empty if it is well-formed.
[[nodiscard]] std::string malformed(const Program& program);

/// Returns the name of a header field that differs from the first program; empty if all agree.
[[nodiscard]] std::string_view unlike(const Program& program, const Program& first);

/// Returns the defect of a set of programs and its location, or an empty text. Checks the ranges of
/// lists, fields without a meaning for their step, and that header fields marked "same" are equal.
/// Execution requires all of this.
[[nodiscard]] std::string malformed(std::span<const Program> programs);

}  // namespace weft::plan
