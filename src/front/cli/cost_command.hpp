// SPDX-License-Identifier: BSD-3-Clause
// cost_command.hpp - `weft cost` and `weft formula`.
#pragma once

#include "front/cli/command.hpp"

namespace weft::front {

void add_cost_command(CLI::App& app, int& exit_status);
void add_formula_command(CLI::App& app, int& exit_status);

}  // namespace weft::front
