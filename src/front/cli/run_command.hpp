// SPDX-License-Identifier: BSD-3-Clause
// run_command.hpp - `weft run`.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace weft::front {

/// `program`: the words after --, which the parser does not see.
void add_run_command(CLI::App& app, const std::vector<std::string>& program, int& exit_status);

}  // namespace weft::front
