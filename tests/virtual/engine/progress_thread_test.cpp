// SPDX-License-Identifier: BSD-3-Clause
// Goal: a progress thread advances calls that its rank has started, while the rank executes other
// code, and shares the engine with the rank's own calls without a data race.
// Method: each rank has a thread and a progress thread, on an adversarial virtual wire of two
// nodes. The thread sanitizer reports a missing lock.
#include "run/execute/progress_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

#include "base/clock.hpp"
#include "tests/support/call.hpp"
#include "tests/support/ranks_in_threads.hpp"

namespace weft::test {
namespace {

using Thread = run::ProgressThread<VirtualWire>;

constexpr std::uint64_t kDeadlineNs = 60'000'000'000;
constexpr std::uint64_t kSeed = 20;
constexpr std::size_t kRounds = 60;

struct TwoNodes {
    VirtualJob job;
    const VirtualTeam& team;

    TwoNodes()
        : job({.segment_bytes = 1 << 21,
               .node_of_rank = {0, 0, 1, 1},
               .seed = kSeed,
               .profile = {.delay_max = 10, .straggler_delay_max = 100, .threads = true}},
              {.timeout_ns = kDeadlineNs, .abort_on_timeout = true}, run::TurnKind::shared),
          team(job.add_team(
              {.members = {0, 1, 2, 3},
               .shape = {.cells = 32, .banks = 8, .bulk_banks = 4, .bulk_bytes = 65536}})) {}
};

/// A call of one rank, in flight or done.
struct RankCall {
    const TeamCall& call;
    Occurrence occurrence;
    std::vector<std::byte> input;
    std::vector<std::byte> output;
    run::Operation* op = nullptr;

    RankCall(const TeamCall& made, std::size_t number, Rank rank)
        : call(made), occurrence{kSeed, number}, input(made.bytes() + 1), output(made.bytes() + 1) {
        fill_input(call, occurrence, rank, input.data());
    }
    [[nodiscard]] run::Registers registers() {
        return {.input = input.data(), .output = output.data()};
    }
};

/// In each round, starts two calls and makes a blocking call. Then waits for the started calls
/// without driving the engine. Returns the first error, or an empty text.
std::string make_rounds(TwoNodes& ranks, const std::deque<TeamCall>& calls, Rank rank) {
    VirtualEngine& engine = ranks.job.engine(rank);
    run::TeamState& state = *ranks.team.states[static_cast<std::size_t>(rank)];
    const auto program = [&](const TeamCall& call) -> const run::BoundProgram& {
        return call.programs[static_cast<std::size_t>(rank)];
    };
    for (std::size_t round = 0; round < kRounds; ++round) {
        std::deque<RankCall> started;
        for (std::size_t i = 0; i < 2; ++i) {
            RankCall& made =
                started.emplace_back(calls[(round + i) % calls.size()], 3 * round + i, rank);
            made.op = &engine.start(state, program(made.call), made.registers(), made.call.reducer);
        }
        RankCall blocking(calls[(round + 2) % calls.size()], 3 * round + 2, rank);
        if (!engine.run(state, program(blocking.call), blocking.registers(), blocking.call.reducer))
            return engine.failure().text;
        std::string wrong =
            check_output(blocking.call, blocking.occurrence, rank, blocking.output.data());
        const std::uint64_t deadline = base::monotonic_ns() + kDeadlineNs;
        for (RankCall& made : started) {
            while (!engine.ended(*made.op)) {
                if (base::monotonic_ns() > deadline) return "a started call did not end";
                std::this_thread::yield();
            }
            engine.release(*made.op);
            if (wrong.empty())
                wrong = check_output(made.call, made.occurrence, rank, made.output.data());
        }
        if (!wrong.empty()) return wrong;
    }
    return {};
}

std::deque<TeamCall> mixed_calls(TwoNodes& ranks) {
    std::deque<TeamCall> calls;
    for (const std::uint64_t elements : {1U, 0U, 700U})
        for (const char* schedule : {"a2,a2", "a4"})
            calls.push_back(bind_call(ranks.job, ranks.team,
                                      {.collective = "allreduce",
                                       .algorithm = schedule,
                                       .elements = elements,
                                       .algebra = Algebra::affine}));
    calls.push_back(
        bind_call(ranks.job, ranks.team, {.collective = "barrier", .algorithm = "dissemination"}));
    calls.push_back(
        bind_call(ranks.job, ranks.team,
                  {.collective = "broadcast", .algorithm = "binomial", .elements = 40, .root = 2}));
    return calls;
}

TEST(ProgressThread, TheThreadSharesTheEngineAndCompletesStartedCalls) {
    TwoNodes ranks;
    const std::deque<TeamCall> calls = mixed_calls(ranks);
    std::vector<std::string> wrong(4);
    std::atomic<int> rounds_done{0};
    in_threads(ranks.job, [&](Rank rank) {
        const Thread progress_thread(ranks.job.engine(rank));
        wrong[static_cast<std::size_t>(rank)] = make_rounds(ranks, calls, rank);
        ++rounds_done;
        // Keeps the progress thread: other ranks may need data that it still has to post.
        const std::uint64_t deadline = base::monotonic_ns() + kDeadlineNs;
        while (rounds_done != 4 && base::monotonic_ns() < deadline) std::this_thread::yield();
    });
    EXPECT_EQ(wrong, std::vector<std::string>(4));
}

/// Polls a call on ranks 1 to 3, which rank 0 has only started; if `has_thread`, rank 0 has a
/// progress thread. Returns the number of polls of each rank until the call has ended at rank 0, or
/// nothing after `polls_max` polls.
std::optional<std::uint64_t> polls_until_rank0_ends(bool has_thread, std::uint64_t polls_max) {
    TwoNodes ranks;
    const TeamCall call = bind_call(
        ranks.job, ranks.team, {.collective = "allreduce", .algorithm = "a2,a2", .elements = 1});
    std::deque<RankCall> made;
    for (Rank rank = 0; rank < 4; ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        RankCall& mine = made.emplace_back(call, 0, rank);
        mine.op = &ranks.job.engine(rank).start(*ranks.team.states[at], call.programs[at],
                                                mine.registers(), call.reducer);
    }
    std::unique_ptr<Thread> progress_thread;
    if (has_thread) progress_thread = std::make_unique<Thread>(ranks.job.engine(0));
    for (std::uint64_t polls = 0; polls < polls_max; ++polls) {
        if (ranks.job.engine(0).ended(*made[0].op)) {
            EXPECT_EQ(check_output(call, made[0].occurrence, 0, made[0].output.data()), "");
            return polls;
        }
        for (Rank rank = 1; rank < 4; ++rank) ranks.job.engine(rank).poll();
        std::this_thread::yield();
    }
    return std::nullopt;
}

TEST(ProgressThread, AStartedCallProgressesWhileItsRankIsBusy) {
    EXPECT_TRUE(polls_until_rank0_ends(/*has_thread=*/true, 100'000'000).has_value());
}

TEST(ProgressThread, AStartedCallDoesNotProgressWithoutTheThread) {  // the negative control
    EXPECT_FALSE(polls_until_rank0_ends(/*has_thread=*/false, 20'000).has_value());
}

TEST(FifoLock, RepeatedTriesDoNotStarveAWaiter) {
    run::Turn turn(run::TurnKind::shared);
    for (int round = 0; round < 50; ++round) {
        std::atomic<bool> served{false};
        run::Turn::Hold own = turn.try_take();
        ASSERT_TRUE(own.owns_lock());
        std::thread call([&] {
            const run::Turn::Hold hold = turn.take();
            served = true;
        });
        while (!turn.wanted()) std::this_thread::yield();
        own.unlock();
        do own = turn.try_take();
        while (!own.owns_lock());
        EXPECT_TRUE(served) << "round " << round;
        own.unlock();
        call.join();
    }
}

TEST(YieldLimit, YieldsEndAfterALongTimeWithoutProgress) {
    constexpr std::uint64_t kStart = 5'000'000;
    run::YieldLimit limit;
    EXPECT_TRUE(limit.yields(kStart));
    EXPECT_TRUE(limit.yields(kStart + run::YieldLimit::kYieldingNs));
    EXPECT_FALSE(limit.yields(kStart + run::YieldLimit::kYieldingNs + 1));
    limit.renew();
    EXPECT_TRUE(limit.yields(kStart + run::YieldLimit::kYieldingNs + 2));
}

TEST(YieldLimit, YieldsAreAvoidedIfOtherThreadsKeepTheProcessor) {
    constexpr std::uint64_t kStart = 5'000'000;
    run::YieldLimit limit;
    ASSERT_TRUE(limit.yields(kStart));
    limit.yielded(kStart, kStart + 1000);
    EXPECT_TRUE(limit.yields(kStart + 1000));
    const std::uint64_t back = kStart + 1000 + run::YieldLimit::kLongYieldNs + 1;
    limit.yielded(kStart + 1000, back);
    limit.renew();
    EXPECT_FALSE(limit.yields(back + run::YieldLimit::kAvoidNs - 1));
    limit.renew();
    EXPECT_TRUE(limit.yields(back + run::YieldLimit::kAvoidNs));
}

}  // namespace
}  // namespace weft::test
