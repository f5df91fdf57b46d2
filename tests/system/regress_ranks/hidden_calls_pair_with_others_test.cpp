// SPDX-License-Identifier: BSD-3-Clause
// Bug: ranks could not distinguish the user's calls from the library's own: collectives inside
// finalize, alloc, free, split and free of a team, and barriers before banks are reused. A barrier
// of one rank completed with the barrier inside the finalize of another, and finalize then hung.
// Method: the last rank makes another call than the others. Each waiting rank must get an Error
// that names both calls as the program made them. Without the fix, the first case hangs.
#include <fmt/format.h>

#include <optional>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

constexpr int kCaught = 40;  ///< exit status of a rank that gets an Error

/// Makes the call that is named `what`.
void make_call(const std::string& what, Runtime& runtime, Team team, void* memory) {
    double values[4] = {};
    if (what == "barrier") team.barrier();
    if (what == "finalize") runtime.finalize();
    if (what == "alloc") static_cast<void>(team.allocate(64));
    if (what == "free") team.release(memory);
    if (what == "split") static_cast<void>(team.split(0, 0));
    if (what == "team_free") team.free();
    if (what == "broadcast") team.broadcast(values, 4, Type::float64, 0);
}

/// Arguments: `world` or `team`, number of broadcasts before the call, call of the last rank, call
/// of the other ranks.
int run_rank(const Words& words) {
    Runtime runtime;
    Team team = words[0] == "world" ? runtime.world() : *runtime.world().split(0, 0);
    void* const memory = team.allocate(64);
    double values[4] = {};
    team.barrier();
    for (int i = std::stoi(words[1]); i > 0; --i) team.broadcast(values, 4, Type::float64, 0);
    try {
        make_call(words[team.rank() == team.size() - 1 ? 2 : 3], runtime, team, memory);
        team.barrier();
    } catch (const Error& error) {
        fmt::print(stderr, "caught: {}\n", error.what());
        return kCaught;
    }
    return 0;
}
const RankFunction kRankFunction("hidden_calls", run_rank);

/// Checks that a rank gets an Error that names both calls. `words` are the arguments of run_rank().
void check(const Words& options, const Words& words) {
    const Outcome outcome =
        run_function(options, "hidden_calls", words, {"WEFT_BANKS=4", "WEFT_TIMEOUT=0"});
    EXPECT_EQ(outcome.status, kCaught) << outcome.errors;
    EXPECT_LT(outcome.seconds, 10);
    for (const std::string& call : {words[2], words[3]})
        EXPECT_NE(outcome.errors.find("called " + call), std::string::npos)
            << call << ": " << outcome.errors;
}

TEST(HiddenCalls, InternalCallsDoNotPairWithUserCalls) {
    check({"-n", "2"}, {"world", "0", "finalize", "barrier"});
    check({"-n", "3", "--nodes", "3"}, {"world", "0", "finalize", "barrier"});
    check({"-n", "2"}, {"world", "0", "split", "alloc"});
    check({"-n", "2"}, {"team", "0", "free", "barrier"});
    check({"-n", "2"}, {"team", "0", "team_free", "barrier"});
}

/// With WEFT_BANKS=4 the library inserts a barrier before every second broadcast.
TEST(HiddenCalls, InsertedBarriersAreNamedAfterTheCallThatNeedsThem) {
    check({"-n", "2"}, {"world", "1", "barrier", "broadcast"});
    check({"-n", "2"}, {"world", "2", "barrier", "broadcast"});
}

}  // namespace
}  // namespace weft::test
