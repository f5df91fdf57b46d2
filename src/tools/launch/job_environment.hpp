// SPDX-License-Identifier: BSD-3-Clause
// job_environment.hpp - prepares this process for a job: environment variables of the ranks, and
// the limit on open files (ulimit -n).
//
// Why      A PMIx server without free files drops connections of ranks, which then wait forever.
#pragma once

#include <string>
#include <vector>

#include "tools/launch/launch.hpp"

namespace weft::tools {

/// Removes variables by which an outer launcher has described this process as a rank of its own
/// job. Sets HOME to "/" for this process and the ranks if no home folder can be found: PMIx 4 and
/// 5 crash without one. Container engines set the same value for users without an entry in the user
/// database.
void clean_environment();

/// Restricts the hwloc inside the PMIx server to this machine's hardware, without messages. By
/// default it looks for ten X displays at "localhost", which takes seconds if names are resolved
/// over the network, and it complains where /sys is not mounted. Changes the environment of this
/// process, not a copy made before for the ranks. User settings are kept.
void restrain_hwloc();

/// Returns this process's variables as "NAME=value", overridden by those of the options.
[[nodiscard]] std::vector<std::string> environment_of_job(
    const std::vector<EnvironmentVariable>& settings);

void set_variable(std::vector<std::string>& environment, const EnvironmentVariable& variable);

/// Raises this process's soft limit if the job may need it. Fails if the hard limit leaves too few
/// files for the PMIx server and the ranks. Call it before the server starts.
void make_room_for_files(Rank ranks, bool label);

/// Fails if there are too few files for the ranks. Call it when all other files are open, because
/// their number differs between versions of PMIx.
void check_room_for_ranks(Rank ranks, bool label);

}  // namespace weft::tools
