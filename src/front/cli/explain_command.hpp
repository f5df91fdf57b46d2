// SPDX-License-Identifier: BSD-3-Clause
// explain_command.hpp - `weft explain`.
#pragma once

#include "front/cli/command.hpp"

namespace weft::front {

void add_explain_command(CLI::App& app, int& exit_status);

}  // namespace weft::front
