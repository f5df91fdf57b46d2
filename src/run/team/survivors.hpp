// SPDX-License-Identifier: BSD-3-Clause
// survivors.hpp - what survivors of deaths do with a team: revoke it, agree, list the dead.
//
// Next     teams.hpp for shrink().
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "run/agree/agreement.hpp"

namespace weft::run {

class Team;

/// Fails the team on all members. Not collective.
[[nodiscard]] base::Result<void> revoke(Team& team);
/// Agrees with the surviving members on the bitwise and of the words and the maximum of the bounds.
/// Collective over the survivors. Works on failed teams.
[[nodiscard]] base::Result<Ballot> agree(Team& team, std::uint64_t word, std::uint64_t bound = 0);
/// Agrees with the surviving members that all have called this function, and waits until no message
/// between them is under way. After that, a rank may close the network.
[[nodiscard]] base::Result<void> agree_at_end(Team& world);
/// Returns the members that this rank knows to be dead.
[[nodiscard]] RankSet dead_members(const Team& team);

}  // namespace weft::run
