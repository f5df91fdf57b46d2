// SPDX-License-Identifier: BSD-3-Clause
// loopback_bootstrap.hpp - a process without a launcher: a job of one rank.
#pragma once

#include <memory>

#include "link/bootstrap/bootstrap.hpp"

namespace weft::link {

[[nodiscard]] std::unique_ptr<Bootstrap> join_job_of_one();

}  // namespace weft::link
