// SPDX-License-Identifier: BSD-3-Clause
// gather_texts.hpp - what each rank has to say, brought to rank 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace weft::run {

class Team;

/// Collective: the bytes of all members, by rank, on rank 0; nothing on others.
[[nodiscard]] base::Result<std::vector<std::string>> gather_texts(Team& team,
                                                                  const std::string& mine);

/// What the ranks have agreed about before: the longest text has so many words, its length in front
/// included, this rank's `mine`.
[[nodiscard]] base::Result<void> check_longest(std::uint64_t words, std::uint64_t mine, Rank ranks);

}  // namespace weft::run
