// SPDX-License-Identifier: BSD-3-Clause
// simulate_command.hpp - `weft simulate`.
#pragma once

#include "front/cli/command.hpp"

namespace weft::front {

void add_simulate_command(CLI::App& app, int& exit_status);
void add_goal_command(CLI::App& app, int& exit_status);

}  // namespace weft::front
