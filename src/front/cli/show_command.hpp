// SPDX-License-Identifier: BSD-3-Clause
// show_command.hpp - `weft show`.
#pragma once

#include "front/cli/command.hpp"

namespace weft::front {

void add_show_command(CLI::App& app, int& exit_status);

}  // namespace weft::front
