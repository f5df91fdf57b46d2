// SPDX-License-Identifier: BSD-3-Clause
// info_command.hpp - `weft info`.
#pragma once

#include "front/cli/command.hpp"

namespace weft::front {

void add_info_command(CLI::App& app, int& exit_status);

}  // namespace weft::front
