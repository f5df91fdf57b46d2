// SPDX-License-Identifier: BSD-3-Clause
// bench_command.hpp - `weft bench`.
#pragma once

#include "front/cli/command.hpp"

namespace weft::front {

void add_bench_command(CLI::App& app, int& exit_status);

}  // namespace weft::front
