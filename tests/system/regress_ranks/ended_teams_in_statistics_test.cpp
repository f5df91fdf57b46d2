// SPDX-License-Identifier: BSD-3-Clause
// Bug: WEFT_STATS and WEFT_TRACE showed calls of new teams under the names of other calls, after a
// team had ended and its memory was reused.
// Method: make many teams, each with one call, and end each before the next; count the calls.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

constexpr int kRounds = 40;  // each with one team for each of the three calls

int use_and_end_teams(const Words&) {
    Runtime runtime;
    std::vector<double> all(static_cast<std::size_t>(runtime.world().size()));
    double own = 1;
    double sum = 0;
    const auto on_new_team = [&](const auto& call) {
        Team team = *runtime.world().split(0, 0);
        call(team);
        team.free();
    };
    for (int round = 0; round < kRounds; ++round) {
        on_new_team([&](Team& on) { on.allreduce(&own, &sum, 1, Type::float64, Op::sum); });
        on_new_team([&](Team& on) { on.broadcast(&own, 1, Type::float64, 0); });
        on_new_team([&](Team& on) { on.allgather(&own, all.data(), 1, Type::float64); });
    }
    runtime.finalize();
    return sum == runtime.world().size() ? 0 : 3;
}
const RankFunction kEndedTeams("ended_teams", use_and_end_teams);

TEST(StatsTest, CallsOfEndedTeamsKeepTheirNames) {
    const Outcome outcome = run_function({"-n", "2"}, "ended_teams", {}, {"WEFT_STATS=1"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    for (const char* const call : {"allreduce", "broadcast", "allgather"}) {
        int calls = 0;
        std::istringstream lines(outcome.errors);
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line);
            std::string weft, name, bytes, algorithm, ranks, count;
            words >> weft >> name >> bytes >> algorithm >> ranks >> count;
            if (name == call) calls += std::stoi(count);
        }
        EXPECT_EQ(calls, kRounds) << call << "\n" << outcome.errors;
    }
}

}  // namespace
}  // namespace weft::test
