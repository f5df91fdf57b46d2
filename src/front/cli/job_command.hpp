// SPDX-License-Identifier: BSD-3-Clause
// job_command.hpp - what commands share that every rank of a job runs, and of which the first rank
// speaks.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "weft/types.hpp"

namespace weft::front {

/// Whether the launcher calls this process rank 0, or there is none. Known before the job is
/// joined.
[[nodiscard]] bool is_first_rank();

/// Whether a launcher has started this process.
[[nodiscard]] bool is_in_job();

/// Replaces this process by `weft run`, which starts so many ranks of the same command. Returns
/// only if that fails.
[[nodiscard]] base::Failure start_job(Rank ranks, std::optional<Rank> nodes);

/// Says on stderr why the command stops, outside of a job; returns its exit status. What the
/// arguments or the environment of all ranks have wrong is reported by the first rank alone.
[[nodiscard]] int refuse(const char* command, const base::Failure& failure);

}  // namespace weft::front
