// SPDX-License-Identifier: BSD-3-Clause
// job_environment.hpp - the variables that ranks get.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "front/launch/launch.hpp"

namespace weft::front {

/// Removes what an outer launcher has set about this process's place in its own job from the
/// environment of this process.
void forget_outer_job();

/// Sets HOME to "/" for this process and the ranks if no home folder can be found: PMIx 4 and 5
/// crash without one. Container engines set the same value for users without an entry in the user
/// database.
void provide_home();

/// Asks the hwloc inside the PMIx server to look at this machine's hardware only, and quietly. By
/// itself it asks for ten X displays at the name "localhost", which costs seconds where names are
/// looked up over the network, and complains where /sys is not mounted. Changes the environment of
/// this process, not that of the ranks if theirs was taken before; what the user has set stays.
void restrain_hwloc();

/// This process's variables as "NAME=value", with those of the options on top.
[[nodiscard]] std::vector<std::string> environment_of_job(
    const std::vector<EnvironmentVariable>& settings);

/// Sets one of a list of "NAME=value".
void set_variable(std::vector<std::string>& environment, const EnvironmentVariable& variable);

}  // namespace weft::front
