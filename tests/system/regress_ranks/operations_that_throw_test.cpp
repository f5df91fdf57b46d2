// SPDX-License-Identifier: BSD-3-Clause
// Bugs: an exception in a user operation ended the process, and a team with a failed call could not
// be freed. Method: a user operation throws on the last rank, in blocking and started calls with
// one and with 5000 elements. All waiting ranks must get an Error, free the team and use other
// teams, in more rounds than the table of teams has entries. Without the fix, the process ends.
#include <fmt/format.h>

#include <stdexcept>
#include <thread>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

void add_or_throw(const void* in, void* inout, std::size_t count, void* throws) {
    if (*static_cast<const bool*>(throws)) throw std::runtime_error("the last rank throws");
    for (std::size_t i = 0; i < count; ++i)
        static_cast<int*>(inout)[i] += static_cast<const int*>(in)[i];
}

/// Returns true if the call or the barrier after it fails as expected. A rank that has all its data
/// does not wait for the rank that throws, so it gets the error in the barrier.
bool failed(Team team, std::vector<int>& values, const UserOp& op, bool started) {
    const Call call = Call::allreduce(values.data(), values.data(), values.size(), op);
    try {
        if (started)
            team.start(call).wait();
        else
            team.run(call);
        team.barrier();
    } catch (const Error& error) {
        if (error.status() == Status::argument &&
            std::string_view(error.what()).find("threw: the last rank throws") != std::string::npos)
            return true;
        fmt::print(stderr, "{}\n", error.what());
    }
    return false;
}

/// Argument: rounds. In each round the operation throws on the last rank.
int run_rank(const Words& words) {
    Runtime runtime;
    Team world = runtime.world();
    bool throws = false;
    const UserOp op(add_or_throw, &throws, sizeof(int), true);
    for (int round = std::stoi(words[0]); round > 0; --round) {
        std::vector<int> values(round % 2 == 0 ? 1 : 5000, 1);
        Team team = *world.split(0, 0);
        team.allreduce(values.data(), values.data(), values.size(), op);
        if (values[0] != team.size()) return 3;
        throws = world.rank() == world.size() - 1;
        if (!failed(team, values, op, round % 3 == 0)) return 4;
        throws = false;
        team.free();
        world.barrier();
    }
    runtime.finalize();
    return 0;
}
const RankFunction kRankFunction("operations_that_throw", run_rank);

TEST(OperationsThatThrow, TheCallFailsAndTheTeamCanBeFreed) {
    for (const Words& options : {Words{"-n", "2"}, Words{"-n", "3", "--nodes", "3"}}) {
        const Outcome outcome = run_function(options, "operations_that_throw", {"80"});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_LT(outcome.seconds, 40) << "the error reached other ranks late";
    }
}
TEST(OperationsThatThrow, TheCallFailsOnAProgressThread) {
    const Outcome outcome =
        run_function({"-n", "2"}, "operations_that_throw", {"40"}, {"WEFT_PROGRESS=thread"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

}  // namespace
}  // namespace weft::test
