// SPDX-License-Identifier: BSD-3-Clause
// show_pictures.hpp - programs in forms that other tools read: a graph, a picture, JSON.
#pragma once

#include <span>
#include <string>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"
#include "tools/cli/command.hpp"

namespace weft::tools {

/// Returns a graph for Graphviz: a column of steps for each rank, and an edge for each message from
/// the step that raises a signal to the wait for it. Loops are drawn once.
[[nodiscard]] std::string dot_of(std::span<const plan::Program> programs);
/// Draws the messages of all ranks over time, with a latency of 1000 ns and 100 ns per message.
[[nodiscard]] base::Result<std::string> svg_of(std::span<const plan::Program> programs);
/// Returns the steps in the order of their lanes, with their text form; docs/interfaces.md
/// lists the fields.
[[nodiscard]] Json json_of(std::span<const plan::Program> programs);

}  // namespace weft::tools
