// SPDX-License-Identifier: BSD-3-Clause
// list_command.hpp - `weft list`.
#pragma once

#include "front/cli/command.hpp"

namespace weft::front {

void add_list_command(CLI::App& app, int& exit_status);

}  // namespace weft::front
