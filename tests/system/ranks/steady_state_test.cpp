// SPDX-License-Identifier: BSD-3-Clause
// Goal: a call between two ranks that spin makes no system call, and a short call makes no
// allocation. Method: run steady_state.cpp, which counts both. As a control, it first makes an
// allocation and a system call.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/system/ranks/ranks_job.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::test {
namespace {

constexpr int kAttempts = 5;    ///< jobs, until one is undisturbed
constexpr int kLongCalls = 50;  ///< long calls of a block, as in steady_state.cpp

/// Numbers of the system calls that a rank makes if its peer has no processor for long.
const std::set<std::string> kWaiting{std::to_string(SYS_sched_yield), std::to_string(SYS_nanosleep),
                                     std::to_string(SYS_clock_nanosleep)};

/// Returns true if at least half of the blocks made no system call; the scheduler may disturb some.
/// `calls` is the number of calls of a block, `allocations` the maximum of all blocks.
bool mostly_clean(const lab::Json& measured, int calls = 1000, int allocations = 0) {
    EXPECT_EQ(measured.at("blocks"), 100);
    EXPECT_EQ(measured.at("calls_per_block"), calls);
    EXPECT_LE(measured.at("allocations"), allocations);
    for (const auto& [number, count] : measured.at("system_calls").items())
        EXPECT_TRUE(kWaiting.contains(number)) << "system call " << number << ": " << count;
    return 2 * measured.at("blocks_without_system_calls").get<int>() >=
           measured.at("blocks").get<int>();
}

class SteadyStateTest : public ::testing::TestWithParam<Words> {};

TEST_P(SteadyStateTest, NoCallMakesASystemCallAndShortOnesAllocateNothing) {
    cpu_set_t cpus;
    ASSERT_EQ(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    if (CPU_COUNT(&cpus) < 2) GTEST_SKIP() << "with one processor, waiting ranks yield";
    std::string last;
    for (int attempt = 0; attempt < kAttempts && !HasFailure(); ++attempt) {
        const Outcome outcome =
            run_ranks({"-n", "2", "--bind", "core"}, {rank_program("steady_state")}, GetParam());
        ASSERT_EQ(outcome.status, 0) << outcome.errors;
        last = outcome.output;
        const auto report = lab::read_json(last);
        EXPECT_TRUE(report.at("right").get<bool>());
        if (report.contains("skipped")) GTEST_SKIP() << report["skipped"];
        // The control: one allocation and one call of getppid(), which must return its result.
        EXPECT_EQ(report.at("control").at("allocations"), 1);
        EXPECT_EQ(report.at("control").at("system_calls"), 1);
        EXPECT_TRUE(report.at("control").at("getppid_result_is_right").get<bool>());
        const bool allreduce = mostly_clean(report.at("allreduce"));
        const bool barrier = mostly_clean(report.at("barrier"));
        // On each of the two ranks, the queue of started calls allocates once for 64 long calls.
        constexpr int kQueueBlocks = 2 * (100 * kLongCalls / 64 + 1);
        const bool long_allreduce =
            mostly_clean(report.at("long_allreduce"), kLongCalls, kQueueBlocks);
        const bool long_broadcast =
            mostly_clean(report.at("long_broadcast"), kLongCalls, kQueueBlocks);
        if (allreduce && barrier && long_allreduce && long_broadcast) return;
    }
    ADD_FAILURE() << "in " << kAttempts << " runs, half of the blocks had system calls: " << last;
}

INSTANTIATE_TEST_SUITE_P(WithoutALogOrWithWarningsOnly, SteadyStateTest,
                         ::testing::Values(Words{}, Words{"WEFT_LOG=warn"}));

}  // namespace
}  // namespace weft::test
