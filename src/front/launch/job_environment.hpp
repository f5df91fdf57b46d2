// SPDX-License-Identifier: BSD-3-Clause
// job_environment.hpp - the variables that ranks get.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "front/launch/launch.hpp"

namespace weft::front {

/// Takes everything that a launcher around this one told us about our place in its job out of the
/// environment of this process.
void forget_outer_job();

/// This process's variables as "NAME=value", with those of the options on top.
[[nodiscard]] std::vector<std::string> environment_of_job(const std::vector<Variable>& settings);

/// Sets one of a list of "NAME=value".
void set_variable(std::vector<std::string>& environment, const Variable& variable);

}  // namespace weft::front
