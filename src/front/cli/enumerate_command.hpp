// SPDX-License-Identifier: BSD-3-Clause
// enumerate_command.hpp - `weft enumerate`.
#pragma once

#include "front/cli/command.hpp"

namespace weft::front {

void add_enumerate_command(CLI::App& app, int& exit_status);

}  // namespace weft::front
