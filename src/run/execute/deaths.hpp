// SPDX-License-Identifier: BSD-3-Clause
// deaths.hpp - ranks that are known to be dead in a job that continues after deaths.
#pragma once

#include <map>

#include "base/result.hpp"
#include "run/execute/team_state.hpp"

namespace weft::run {

struct Deaths {
    bool survivable = false;              ///< false: a death ends the job
    std::map<Rank, base::Failure> ranks;  ///< dead ranks, with the failure of calls that need them

    void add(Rank rank) { ranks[rank] = base::fail(Status::peer, "rank {} has died", rank); }
    [[nodiscard]] bool contains(Rank rank) const { return ranks.contains(rank); }
    /// Returns the failure of calls that need the rank, or nullptr if it is not known to be dead.
    [[nodiscard]] const base::Failure* failure_by(Rank rank) const {
        if (ranks.empty()) [[likely]]
            return nullptr;
        const auto found = ranks.find(rank);
        return found == ranks.end() ? nullptr : &found->second;
    }
    /// Returns the failure of a wait for a rank if the rank has died. It counts even if the wait's
    /// condition holds: transfers with a dead rank end without data. Waits for teams have none.
    [[nodiscard]] const base::Failure* death_of(Rank rank) const { return failure_by(rank); }
    [[nodiscard]] static const base::Failure* death_of(const TeamState*) { return nullptr; }
    /// Returns the failure of a team if its waits must not go on, or nullptr.
    [[nodiscard]] const base::Failure* failure_by(const TeamState* team) const {
        return survivable && team->failed ? &team->failure : nullptr;
    }
    /// Fails the team if a member is dead.
    void apply(TeamState& team) const {
        if (ranks.empty()) return;
        for (const Rank member : team.setup.job_ranks) {
            const base::Failure* const why = failure_by(member);
            if (why != nullptr) team.fail(*why);
        }
    }
};

}  // namespace weft::run
