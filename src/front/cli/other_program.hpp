// SPDX-License-Identifier: BSD-3-Clause
// other_program.hpp - what commands share that ask another program, or a job of their own, for an
// answer in JSON.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "front/cli/command.hpp"

namespace weft::front {

/// Where the executable of this process lies.
[[nodiscard]] base::Result<std::string> own_program();

/// Runs a program of these words to its end, for so many seconds at most: the JSON object that it
/// prints on a line. The failure is the first line of what it says instead.
[[nodiscard]] base::Result<Json> json_of(const std::vector<std::string>& words, double seconds);

}  // namespace weft::front
