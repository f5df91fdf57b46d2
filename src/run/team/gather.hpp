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

/// Returns the texts of all members by rank on rank 0, and nothing on others. Collective.
[[nodiscard]] base::Result<std::vector<std::string>> gather_texts(Team& team,
                                                                  const std::string& mine);

/// Checks the agreed number of words of the longest text, including its length. This rank's text
/// has `mine` words.
[[nodiscard]] base::Result<void> check_longest(std::uint64_t words, std::uint64_t mine, Rank ranks);

/// Returns the exchanges of the world for reports.
[[nodiscard]] JobExchange exchange_of(Team& world);

}  // namespace weft::run
