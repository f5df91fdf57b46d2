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

/// Removes the variables that make this process a rank of an outer launcher's job. If the user has
/// no home folder, without which PMIx 4 and 5 crash, sets HOME to "/" for this process and the
/// ranks, as container engines do for users without an entry in the user database.
void clean_environment();

/// Sets variables for the PMIx server's hwloc. By default hwloc reads the registers of PCI devices,
/// which takes most of the start-up time. It also connects to ten X displays at "localhost", which
/// takes seconds if names are resolved over the network, and prints errors without /sys. Values
/// that the user has set are kept. Copy the environment for the ranks before this call.
void restrain_hwloc();

/// Returns this process's variables as "NAME=value", overridden by `settings`.
[[nodiscard]] std::vector<std::string> environment_of_job(const std::vector<std::string>& settings);

/// Sets the variable of `setting`, "NAME=value", in a list of such texts.
void set_variable(std::vector<std::string>& environment, const std::string& setting);

/// Raises this process's soft limit if the job may need more files. Throws an Error if the hard
/// limit leaves too few files for the PMIx server and the ranks. Call it before the server starts.
/// `label`: the output of ranks is labelled, which takes two pipes for each rank.
void raise_file_limit(Rank ranks, bool label);

/// Throws an Error if there are too few files for the ranks. Call it when the PMIx server has
/// opened its files, whose number depends on the version of PMIx.
void check_files_for_ranks(Rank ranks, bool label);

}  // namespace weft::tools
