// SPDX-License-Identifier: BSD-3-Clause
// Bug: a second weft_init() failed with the PMIx error "PARTIAL SUCCESS". If a rank closed its
// connection late at the end of its first runtime, the PMIx server counted the rank as lost in the
// first fence of the second runtime. Method: make 100 runtimes one after another, while threads
// keep the processors busy. In commit 9d518da, which lacks the fix, the 8th weft_init() of 4 ranks
// fails.
#include <fmt/format.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

constexpr int kRuntimes = 100;

/// Keeps the processors busy until its destructor, like another job on the machine.
class Load {
  public:
    explicit Load(unsigned threads) {
        for (unsigned thread = 0; thread < threads; ++thread)
            threads_.emplace_back([this] {
                while (!stop_.load(std::memory_order_relaxed)) {
                }
            });
    }
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;
    ~Load() {
        stop_ = true;
        for (std::thread& thread : threads_) thread.join();
    }

  private:
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

int run_rank(const Words&) {
    for (int i = 0; i < kRuntimes; ++i) {
        Runtime runtime;
        Team world = runtime.world();
        if (world.allreduce(1, Op::sum) != world.size()) return 3;
        runtime.finalize();
    }
    return 0;
}
const RankFunction kRankFunction("departures_meet_joins", run_rank);

TEST(DeparturesMeetJoins, AHundredRuntimesStartAndEndOneAfterAnother) {
    const Load load(std::thread::hardware_concurrency());
    for (const Words& options : {Words{"-n", "2"}, Words{"-n", "4", "--nodes", "2"}}) {
        const Outcome outcome = run_function(options, "departures_meet_joins");
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
    }
    const Words program{RANK_PROGRAMS "/weft_regress_ranks_test", "--rank",
                        "departures_meet_joins"};
    if (const auto outcome = run_under_mpirun(2, program)) {
        EXPECT_EQ(outcome->status, 0) << outcome->errors;
    }
}

}  // namespace
}  // namespace weft::test
