// SPDX-License-Identifier: BSD-3-Clause
// Bugs: the progress thread and weft_progress() counted a started call as a wait, and ended a
// correct job after WEFT_TIMEOUT. A WEFT_TIMEOUT near its maximum wrapped and ended the job at
// once. Method: rank 0 starts a call and computes for longer than the timeout. The other ranks make
// the call only after this time. Without the fix, each job is aborted.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

/// Calls progress() for some time, like a program that computes.
void compute(Runtime& runtime, double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) {
        runtime.progress();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

/// Argument: the seconds between start and wait of rank 0.
int run_rank(const Words& words) {
    Runtime runtime;
    Team world = runtime.world();
    const double seconds = std::stod(words[0]);
    if (world.rank() != 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    Request request = world.start(Call::barrier());
    if (world.rank() == 0) compute(runtime, seconds);
    request.wait();
    runtime.finalize();
    return 0;
}
const RankFunction kRankFunction("healthy_jobs", run_rank);

/// Checks that a job in which rank 0 computes for `seconds` is not aborted.
void check(const char* seconds, const Words& settings) {
    Words with_abort{"WEFT_TIMEOUT_ACTION=abort"};
    with_abort.insert(with_abort.end(), settings.begin(), settings.end());
    const Outcome outcome = run_function({"-n", "2"}, "healthy_jobs", {seconds}, with_abort);
    EXPECT_EQ(outcome.status, 0) << settings[0];
    EXPECT_EQ(outcome.errors, "") << settings[0];
}

TEST(HealthyJobs, ComputingJobsAreNotAborted) {
    check("2.5", {"WEFT_TIMEOUT=1", "WEFT_PROGRESS=thread"});
    check("2.5", {"WEFT_TIMEOUT=1", "WEFT_PROGRESS=calls"});
    check("0.5", {"WEFT_TIMEOUT=18446744072"});  // almost 2^64 ns
}

}  // namespace
}  // namespace weft::test
