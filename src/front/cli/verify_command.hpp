// SPDX-License-Identifier: BSD-3-Clause
// verify_command.hpp - `weft verify`.
#pragma once

#include "front/cli/command.hpp"

namespace weft::front {

void add_verify_command(CLI::App& app, int& exit_status);

}  // namespace weft::front
