// SPDX-License-Identifier: BSD-3-Clause
// help_command.hpp - `weft help`.
#pragma once

#include "front/cli/command.hpp"

namespace weft::front {

/// Describes `app`, so all other commands are to be added, before it runs.
void add_help_command(CLI::App& app, int& exit_status);

}  // namespace weft::front
