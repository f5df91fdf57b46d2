// SPDX-License-Identifier: BSD-3-Clause
// Bugs: a team kept the plans of all its calls, so each new count, root or user operation allocated
// 2 KiB. The end of a team did not free its contexts. Method: compare the resident memory after a
// warm-up of different calls and after many more. It may grow by 1 MiB. Without the fixes, it grows
// by megabytes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tests/support/resident_bytes.hpp"
#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

void add(const void* in, void* inout, std::size_t count, void*) {
    for (std::size_t i = 0; i < count; ++i)
        static_cast<int*>(inout)[i] += static_cast<const int*>(in)[i];
}

/// Calls that differ in each round.
class Rounds {
  public:
    Rounds(Team world, std::size_t rounds)
        : world_(world), rounds_(rounds), values_(std::max<std::size_t>(rounds, 200'000), 1) {}

    void count(std::size_t round) {
        world_.allreduce(values_.data(), values_.data(), count_of(round), Type::int32, Op::max);
    }
    void operation(std::size_t) {
        const UserOp op(add, nullptr, sizeof(int), true);
        int one = 1;
        world_.allreduce(&one, &one, 1, op);
        if (one != world_.size()) throw Error(Status::peer, "a sum is wrong");
    }
    void blocks(std::size_t round) {
        const std::vector<std::size_t> counts(static_cast<std::size_t>(world_.size()),
                                              count_of(round));
        std::vector<int> all(counts.size() * counts[0]);
        world_.allgatherv(values_.data(), all.data(), {.counts = counts}, Type::int32);
    }
    void teams(std::size_t round) {
        OwnedTeam outer(*world_.split(static_cast<int>(round % 2), 0));
        OwnedTeam inner(*outer.split(0, 0));
        for (int i = 0; i < 16; ++i) inner.make_context().quiet();
        inner.barrier();
    }

  private:
    /// Returns a different count for each round. The warm-up has small and large counts, because a
    /// large count touches pages of the segment for the first time, which is not a leak.
    [[nodiscard]] std::size_t count_of(std::size_t round) const {
        constexpr std::size_t kStride = 7919;  // a prime, so that no count repeats
        return 1 + round * kStride % rounds_;
    }

    Team world_;
    std::size_t rounds_;
    std::vector<int> values_;
};

/// Arguments: kind, rounds. Prints the growth of the resident memory of rank 0 in the rounds.
int run_rank(const Words& words) {
    Runtime runtime;
    const auto total = static_cast<std::size_t>(std::atoll(words[1].c_str()));
    const std::size_t warm_up = std::min<std::size_t>(total / 2, 8000);
    Rounds rounds(runtime.world(), warm_up + total);
    std::int64_t before = 0;
    for (std::size_t round = 0; round < warm_up + total; ++round) {
        if (round == warm_up) before = resident_bytes();
        if (words[0] == "counts") rounds.count(round);
        if (words[0] == "operations") rounds.operation(round);
        if (words[0] == "blocks") rounds.blocks(round);
        if (words[0] == "teams") rounds.teams(round);
    }
    const std::int64_t growth = resident_bytes() - before;
    if (runtime.world().rank() == 0) fmt::print("{}", growth);
    runtime.finalize();
    return 0;
}
const RankFunction kRankFunction("memory_grows", run_rank);

TEST(Memory, MemoryDoesNotGrowWithTheVarietyOfCalls) {
    for (const auto& [kind, rounds] : {std::pair<const char*, const char*>{"counts", "16000"},
                                       {"operations", "16000"},
                                       {"blocks", "8000"},
                                       {"teams", "1000"}}) {
        const Outcome outcome = run_function({"-n", "2"}, "memory_grows", {kind, rounds});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_LT(std::atoll(outcome.output.c_str()), 1 << 20) << kind;
    }
}

}  // namespace
}  // namespace weft::test
