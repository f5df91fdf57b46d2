// SPDX-License-Identifier: BSD-3-Clause
// job_environment.hpp - environment variables of the ranks.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/launch/launch.hpp"

namespace weft::tools {

/// Removes variables by which an outer launcher has described this process as a rank of
/// its own job.
void forget_outer_job();

/// Sets HOME to "/" for this process and the ranks if no home folder can be found: PMIx 4 and
/// 5 crash without one. Container engines set the same value for users without an entry in
/// the user database.
void provide_home();

/// Restricts the hwloc inside the PMIx server to this machine's hardware, without messages. By
/// default it looks for ten X displays at "localhost", which takes seconds if names are resolved
/// over the network, and it complains where /sys is not mounted. Changes the environment of this
/// process, not a copy made before for the ranks. User settings are kept.
void restrain_hwloc();

/// Returns this process's variables as "NAME=value", overridden by those of the options.
[[nodiscard]] std::vector<std::string> environment_of_job(
    const std::vector<EnvironmentVariable>& settings);

/// Sets a variable in a list of "NAME=value".
void set_variable(std::vector<std::string>& environment, const EnvironmentVariable& variable);

}  // namespace weft::tools
