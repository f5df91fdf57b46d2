// SPDX-License-Identifier: BSD-3-Clause
// Bug: a second weft_init() failed with "PARTIAL SUCCESS". The PMIx server took the closed
// connection of a rank that was still leaving its first runtime for a loss in the first fence of
// the second one. Method: many runtimes one after another while other threads keep the processors
// busy. Seen on 9d518da: with 4 ranks the 8th weft_init() fails, and the job exits with status 1.
#include <fmt/format.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/system/regress_ranks/play.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

constexpr int kRuntimes = 100;

/// Keeps the processors busy during its life, like another job on the machine.
class Load {
  public:
    explicit Load(unsigned threads) {
        for (unsigned thread = 0; thread < threads; ++thread)
            threads_.emplace_back([this] {
                while (!over_.load(std::memory_order_relaxed)) {
                }
            });
    }
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;
    ~Load() {
        over_ = true;
        for (std::thread& thread : threads_) thread.join();
    }

  private:
    std::atomic<bool> over_{false};
    std::vector<std::thread> threads_;
};

int play(const Words&) {
    for (int i = 0; i < kRuntimes; ++i) {
        Runtime runtime;
        Team world = runtime.world();
        if (world.allreduce(1, Op::sum) != world.size()) return 3;
        runtime.finalize();
    }
    return 0;
}
const Part kPart("departures_meet_joins", play);

TEST(DeparturesMeetJoins, AHundredRuntimesMayFollowEachOther) {
    const Load load(std::thread::hardware_concurrency());
    for (const Words& options : {Words{"-n", "2"}, Words{"-n", "4", "--nodes", "2"}}) {
        const Outcome outcome = run_part(options, "departures_meet_joins");
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
