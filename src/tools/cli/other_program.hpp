// SPDX-License-Identifier: BSD-3-Clause
// other_program.hpp - runs another program or job, for commands that need its JSON answer.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/cli/command.hpp"

namespace weft::tools {

/// Returns the path of this process's executable.
[[nodiscard]] base::Result<std::string> own_program();

/// Runs a program for at most `seconds` seconds, and returns the JSON object that it prints on a
/// line. On failure the text is the first line of its output.
[[nodiscard]] base::Result<Json> json_of(const std::vector<std::string>& words, double seconds);

}  // namespace weft::tools
