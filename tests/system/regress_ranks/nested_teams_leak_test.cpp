// SPDX-License-Identifier: BSD-3-Clause
// Bug: a dropped team was freed only by the next split of its parent. If the parent was freed
// first, as by destructors, the team kept its entry in the table of teams until no team could be
// made. Method: make more nested teams than the table has 32 entries, free them in each order, and
// drop teams with calls in flight. Without the fix, round 16 fails.
#include <fmt/format.h>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

/// Makes a team and, inside, teams down to `depth`; destructors free the innermost team first.
void nest(Team parent, int depth) {
    OwnedTeam team(*parent.split(0, -parent.rank()));
    if (team.allreduce(1, Op::sum) != team.size()) throw Error(Status::peer, "a sum is wrong");
    if (depth > 1) nest(team, depth - 1);
}

/// Frees a team before the team that was split from it.
void parent_first(Team world) {
    Team outer = *world.split(world.rank() % 2, 0);
    OwnedTeam inner(*outer.split(0, 0));
    outer.free();
    inner.barrier();
}

/// Drops a team while two of its calls are in flight; both must complete.
void drop_in_flight(Team world, std::vector<int>& values) {
    Team team = *world.split(0, 0);
    std::fill(values.begin(), values.end(), 1);
    Request sum = team.start(
        Call::allreduce(values.data(), values.data(), values.size(), Type::int32, Op::sum));
    Request barrier = team.start(Call::barrier());
    team.drop();
    sum.wait();
    barrier.wait();
    if (values.front() != world.size()) throw Error(Status::peer, "a started sum is wrong");
}

/// Argument: number of rounds.
int run_rank(const Words& words) {
    Runtime runtime;
    std::vector<int> values(1000);
    for (int round = std::stoi(words[0]); round > 0; --round) {
        nest(runtime.world(), 1 + round % 4);
        parent_first(runtime.world());
        drop_in_flight(runtime.world(), values);
    }
    runtime.finalize();
    return 0;
}
const RankFunction kRankFunction("nested_teams", run_rank);

TEST(NestedTeams, TeamsFreeTheirEntriesInAnyOrder) {
    for (const Words& options : {Words{"-n", "3"}, Words{"-n", "4", "--nodes", "2"}}) {
        const Outcome outcome = run_function(options, "nested_teams", {"40"});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_EQ(outcome.errors, "");
    }
}

}  // namespace
}  // namespace weft::test
