// SPDX-License-Identifier: BSD-3-Clause
// job_command.hpp - what commands share that every rank of a job runs, and of which the first rank
// speaks.
#pragma once

#include "base/result.hpp"

namespace weft::front {

/// Whether the launcher calls this process rank 0, or there is none. Known before the job is
/// joined.
[[nodiscard]] bool is_first_rank();

/// Says on stderr why the command stops, outside of a job; returns its exit status. What the
/// arguments or the environment of all ranks have wrong is reported by the first rank alone.
[[nodiscard]] int refuse(const char* command, const base::Failure& failure);

}  // namespace weft::front
