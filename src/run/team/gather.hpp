// SPDX-License-Identifier: BSD-3-Clause
// gather.hpp - collects data of each rank on rank 0, for the reports of a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "run/observe/reports.hpp"
#include "weft/types.hpp"

namespace weft::run {

class Team;

/// Returns the members' texts on rank 0, and an empty list on other ranks. Collective.
[[nodiscard]] base::Result<std::vector<std::string>> gather_texts(Team& team,
                                                                  const std::string& mine);

/// Checks the size of the longest text: at least this rank's, `mine`; at most 4 GiB for all ranks.
[[nodiscard]] base::Result<void> check_longest(std::uint64_t words, std::uint64_t mine, Rank ranks);

/// Returns the functions by which the reports of a job exchange data on the world team.
[[nodiscard]] JobExchange exchange_of(Team& world);

}  // namespace weft::run
