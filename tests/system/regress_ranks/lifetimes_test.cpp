// SPDX-License-Identifier: BSD-3-Clause
// Bugs: a started call used the user's operation after its destruction (C++). network_writes() read
// freed memory after finalize(). If two threads made runtimes at once, their start-up failed.
// Method: start a call with a temporary operation and reuse its memory; call network_writes() after
// finalize(); make runtimes in several threads.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <mutex>
#include <thread>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

void add(const void* in, void* inout, std::size_t count, void*) {
    for (std::size_t i = 0; i < count; ++i)
        static_cast<int*>(inout)[i] += static_cast<const int*>(in)[i];
}
void add_nothing(const void*, void*, std::size_t, void*) {}

/// Starts a call with a temporary operation. Before the call is complete, other operations take the
/// memory of the first one, and other calls take its place in the cache of plans.
int started_with_a_temporary(Runtime& runtime) {
    Team world = runtime.world();
    std::vector<int> values(3000, 1);
    Request sum = world.start(Call::allreduce(values.data(), values.data(), values.size(),
                                              UserOp(add, nullptr, sizeof(int), true)));
    std::vector<UserOp> others(100, UserOp(add_nothing, nullptr, sizeof(int), true));
    int one = 1;
    for (int i = 0; i < 2000; ++i) {  // enough to evict older plans
        const UserOp other(add, nullptr, sizeof(int), true);
        world.allreduce(&one, &one, 1, other);
        one = 1;
    }
    sum.wait();
    return values.back() == world.size() ? 0 : 3;
}

/// Makes four runtimes in threads. Start-up decides which runtimes of different ranks form a job,
/// so rank 0 broadcasts its index in each job, and all ranks finalize in the order of these
/// indices.
int make_in_threads() {
    std::array<std::unique_ptr<Runtime>, 4> runtimes;
    std::vector<std::thread> threads;
    std::mutex storing;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&runtimes, &storing, thread] {
            auto runtime = std::make_unique<Runtime>();
            int job_index = thread;
            runtime->world().broadcast(&job_index, 1, Type::int32, 0);
            const std::lock_guard held(storing);
            runtimes.at(static_cast<std::size_t>(job_index)) = std::move(runtime);
        });
    for (std::thread& thread : threads) thread.join();
    for (const auto& runtime : runtimes) runtime->finalize();
    return 0;
}

/// Argument: threads, operation or writes.
int run_rank(const Words& words) {
    if (words[0] == "threads") return make_in_threads();
    Runtime runtime;
    if (words[0] == "operation") {
        if (const int status = started_with_a_temporary(runtime); status != 0) return status;
    }
    const std::uint64_t before = runtime.network_writes();
    runtime.finalize();
    return runtime.network_writes() >= before ? 0 : 4;
}
const RankFunction kRankFunction("lifetimes", run_rank);

TEST(Lifetimes, AStartedCallKeepsItsOperation) {
    const Outcome outcome = run_function({"-n", "3"}, "lifetimes", {"operation"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}
TEST(Lifetimes, WriteCountsContinueAfterFinalize) {
    for (const Words& options : {Words{"-n", "2"}, Words{"-n", "2", "--nodes", "2"}}) {
        const Outcome outcome = run_function(options, "lifetimes", {"writes"});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
    }
}
TEST(Lifetimes, ThreadsMayCreateRuntimesConcurrently) {
    for (const Words& options : {Words{"-n", "2"}, Words{"-n", "2", "--nodes", "2"}}) {
        const Outcome outcome = run_function(options, "lifetimes", {"threads"});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
    }
}

}  // namespace
}  // namespace weft::test
