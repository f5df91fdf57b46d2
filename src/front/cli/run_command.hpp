// SPDX-License-Identifier: BSD-3-Clause
// run_command.hpp - `weft run`.
#pragma once

#include <string>
#include <vector>

#include "front/cli/command.hpp"

namespace weft::front {

/// `program`: the words behind --, which the parser does not see.
void add_run_command(CLI::App& app, const std::vector<std::string>& program, int& exit_status);

}  // namespace weft::front
