// SPDX-License-Identifier: BSD-3-Clause
// job_command.hpp - functions for commands that all ranks of a job run, with output by rank 0.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "weft/types.hpp"

namespace weft::tools {

/// Returns true on rank 0 by the launcher's variables, or without a launcher. Works before the
/// job is joined.
[[nodiscard]] bool is_first_rank();

/// Returns true if a launcher has started this process.
[[nodiscard]] bool is_in_job();

/// Replaces this process by `weft run`, which starts `ranks` ranks of the same command. Returns
/// only on failure.
[[nodiscard]] base::Failure start_job(Rank ranks, std::optional<Rank> nodes);

/// Prints the reason to stderr, outside of a job, and returns the exit status. Failures that all
/// ranks share (arguments, environment) are printed by rank 0 only.
[[nodiscard]] int refuse(const char* command, const base::Failure& failure);

}  // namespace weft::tools
