// SPDX-License-Identifier: BSD-3-Clause
// Bug: while one thread made calls, a call of another thread that could never end was not detected:
// no rank reported that the ranks disagree. Method: ranks disagree in a call of one thread, while
// another thread makes calls until the first thread has got its error.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

int disagree_beside_calls(const Words&) {
    Runtime runtime(Threads::multiple);
    Team world = runtime.world();
    Team disagreeing = *world.split(0, world.rank());
    Team agreeing = *world.split(0, world.rank());
    std::atomic<std::int32_t> refused{0};
    std::thread first([&] {
        double values[2] = {};
        try {
            disagreeing.allreduce(values, values, world.rank() == 0 ? 1 : 2, Type::float64,
                                  Op::sum);
        } catch (const Error& error) {
            refused = error.status() == Status::argument ? 1 : 2;
        }
    });
    // All ranks stop after the same call, when both errors have arrived.
    for (std::int32_t all = 0; all == 0;) {
        const std::int32_t own = refused;
        agreeing.allreduce(&own, &all, 1, Type::int32, Op::min);
    }
    first.join();
    try {
        runtime.finalize();
    } catch (const Error&) {  // a team has failed
    }
    return refused == 1 ? 0 : 3;
}
const RankFunction kDisagree("disagree_beside_calls", disagree_beside_calls);

TEST(Threads, AStuckCallIsDetectedBesideCallsOfOtherThreads) {
    for (const Words& options : {Words{"-n", "2"}, Words{"-n", "2", "--nodes", "2"}}) {
        Words limited{"--timeout", "30"};
        limited.insert(limited.end(), options.begin(), options.end());
        const Outcome outcome = run_function(limited, "disagree_beside_calls");
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_NE(outcome.errors.find("ranks disagree"), std::string::npos) << outcome.errors;
    }
}

}  // namespace
}  // namespace weft::test
