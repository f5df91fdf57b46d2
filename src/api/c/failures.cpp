// SPDX-License-Identifier: BSD-3-Clause
// failures.cpp - calls of the C interface for the survivors of dead ranks.
#include <algorithm>

#include "api/c/handles.hpp"
#include "run/team/survivors.hpp"

using namespace weft;
using namespace weft::c_api;

extern "C" weft_status weft_team_revoke(weft_team* team) {
    return on(__func__, team,
              [](const TeamHandle& found) -> Result<void> { return run::revoke(*found.team); });
}

extern "C" weft_status weft_agree(weft_team* team, uint64_t* word, int* dead) {
    return on(__func__, team, [&](const TeamHandle& found) -> Result<void> {
        if (word == nullptr) return fail(Status::argument, "word is NULL");
        const auto agreed = WEFT_TRY(run::agree(*found.team, *word));
        *word = agreed.word;
        if (dead != nullptr) *dead = agreed.dead.count();
        return Done{};
    });
}

extern "C" weft_status weft_team_shrink(weft_team* team, weft_team** out) {
    return return_value(__func__, team, out, [](const TeamHandle& found) {
        return found.context->handle_for(found.teams().shrink(*found.team));
    });
}

extern "C" weft_status weft_team_dead(weft_team* team, int* ranks, int capacity, int* count) {
    return on(__func__, team, [&](const TeamHandle& found) -> Result<void> {
        if (capacity < 0)
            return fail(Status::argument, "capacity is {}, expected 0 or more", capacity);
        if (count == nullptr || (ranks == nullptr && capacity != 0))
            return fail(Status::argument, "{} is NULL", count == nullptr ? "count" : "ranks");
        const std::vector<Rank> dead = run::dead_members(*found.team).members();
        *count = static_cast<int>(dead.size());
        std::copy_n(dead.begin(), std::min(capacity, *count), ranks);
        return Done{};
    });
}
