// SPDX-License-Identifier: BSD-3-Clause
// show_pictures.hpp - programs in forms that other tools read: a graph, a picture, JSON.
#pragma once

#include <span>
#include <string>

#include "base/result.hpp"
#include "front/cli/command.hpp"
#include "plan/schedule/program.hpp"

namespace weft::front {

/// For Graphviz: a column for each rank, its steps from top to bottom, and an edge for each message
/// from what raises a signal to the wait for it. Loops are drawn once.
[[nodiscard]] std::string dot_of(std::span<const plan::Program> programs);
/// Who sends to whom in which order, if each message takes 1000 ns and the next 100 ns more.
[[nodiscard]] base::Result<std::string> svg_of(std::span<const plan::Program> programs);
/// Steps in the order of their lanes, with their text form; docs/interfaces.md has the fields.
[[nodiscard]] Json json_of(std::span<const plan::Program> programs);

}  // namespace weft::front
