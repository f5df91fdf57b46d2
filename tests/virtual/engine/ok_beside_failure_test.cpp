// SPDX-License-Identifier: BSD-3-Clause
// Goal: a rank may return OK from a call that fails on another rank (docs/reliability.md). The next
// call in which every rank waits for all others then fails on every rank.
// Method: in a reduce the operation throws at the root, while the other ranks return after sending.
// Then all ranks call a barrier, one of them late.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/support/call.hpp"
#include "tests/virtual/engine/disagreements.hpp"

namespace weft::test {
namespace {

constexpr Rank kRanks = 4;
constexpr std::uint64_t kElements = 3;

void add_or_throw(const void* in, void* inout, std::size_t count, void* throws) {
    if (*static_cast<const bool*>(throws)) throw std::runtime_error("planted failure");
    for (std::size_t i = 0; i < count; ++i)
        static_cast<std::uint64_t*>(inout)[i] += static_cast<const std::uint64_t*>(in)[i];
}

struct Endings {
    std::array<Ending, kRanks> reduce;
    std::array<Ending, kRanks> barrier;
    std::array<std::vector<std::uint64_t>, kRanks> output;
};

/// Runs a reduce, whose operation throws at the root if `throws`, then a barrier. Rank `late` calls
/// the barrier 30 ms after the other ranks.
Endings reduce_and_barrier(const std::vector<int>& nodes, bool throws, Rank late) {
    VirtualJob job(threaded_options(nodes),
                   {.inquiry_ns = kInquiryNs, .timeout_ns = kDeadlineNs, .abort_on_timeout = true});
    const VirtualTeam& team =
        job.add_team({.shape = {.cells = 32, .banks = 8, .bulk_banks = 4, .bulk_bytes = 16384}});
    const TeamCall reduce = bind_call(
        job, team, {.collective = "reduce", .algorithm = "flat", .elements = kElements, .root = 0});
    const TeamCall barrier =
        bind_call(job, team, {.collective = "barrier", .algorithm = "dissemination"});
    Endings endings;
    in_threads(job, [&](Rank rank) {
        const auto at = static_cast<std::size_t>(rank);
        bool throws_here = throws && rank == 0;
        const run::UserOperation user{.function = add_or_throw,
                                      .argument = &throws_here,
                                      .commutative = true,
                                      .element_bytes = sizeof(std::uint64_t)};
        std::vector<std::uint64_t> input(kElements, at + 1);
        endings.output[at].assign(kElements, 0);
        VirtualEngine& engine = job.engine(rank);
        run::TeamState& state = *team.states[at];
        const auto end_of = [&](bool succeeded) {
            return succeeded ? Ending{} : Ending{engine.failure().status, engine.failure().text};
        };
        endings.reduce[at] =
            end_of(engine.run(state, reduce.programs[at],
                              {.input = reinterpret_cast<std::byte*>(input.data()),
                               .output = reinterpret_cast<std::byte*>(endings.output[at].data())},
                              {.user = &user, .element_bytes = sizeof(std::uint64_t)}));
        if (rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(30));
        endings.barrier[at] = end_of(engine.run(state, barrier.programs[at], {}, {}));
    });
    return endings;
}

TEST(OkBesideFailure, TheNextBarrierFailsOnAllRanks) {
    int ok_count = 0;  // ranks that returned OK from the failed reduce
    for (const std::vector<int>& nodes : four_rank_layouts()) {
        for (const Rank late : {0, 2}) {
            const Endings endings = reduce_and_barrier(nodes, /*throws=*/true, late);
            EXPECT_NE(endings.reduce[0].status, Status::ok);
            for (std::size_t rank = 0; rank < kRanks; ++rank) {
                ok_count += endings.reduce[rank].status == Status::ok ? 1 : 0;
                EXPECT_NE(endings.barrier[rank].status, Status::ok) << "rank " << rank;
                EXPECT_NE(endings.barrier[rank].text.find("threw: planted failure"),
                          std::string::npos)
                    << "rank " << rank << ": " << endings.barrier[rank].text;
            }
        }
    }
    EXPECT_GT(ok_count, 0) << "the reduce failed on every rank: the barrier had nothing to reveal";
}

TEST(OkBesideFailure, ASuccessfulBarrierConfirmsEarlierCalls) {
    for (const std::vector<int>& nodes : four_rank_layouts()) {
        const Endings endings = reduce_and_barrier(nodes, /*throws=*/false, 2);
        for (std::size_t rank = 0; rank < kRanks; ++rank) {
            EXPECT_EQ(endings.reduce[rank].status, Status::ok) << endings.reduce[rank].text;
            EXPECT_EQ(endings.barrier[rank].status, Status::ok) << endings.barrier[rank].text;
        }
        EXPECT_EQ(endings.output[0], std::vector<std::uint64_t>(kElements, 1 + 2 + 3 + 4));
    }
}

}  // namespace
}  // namespace weft::test
