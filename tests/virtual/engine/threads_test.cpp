// SPDX-License-Identifier: BSD-3-Clause
// Goal: threads of one rank make calls in parallel, and a waiting thread lets the other threads
// continue. Tests cover collectives of several teams on one engine, and one-sided calls of several
// threads on each rank.
// Method: threads share a lock of TurnKind::divided, which a waiting thread releases, on the
// virtual wire and over the virtual fabric. Each thread writes its own words, which are compared
// with a serial model; all threads add to shared words. The thread sanitizer reports a missing
// lock.
// Control: threads whose waits keep the lock make no progress.
#include <gtest/gtest.h>

#include <deque>
#include <numeric>
#include <set>
#include <thread>

#include "base/clock.hpp"
#include "tests/support/call.hpp"
#include "tests/support/onesided_ranks.hpp"
#include "tests/support/virtual_job.hpp"

namespace weft::test {
namespace {

using run::RequestKind;
using run::Return;
using run::Turn;
using run::TurnKind;

constexpr std::uint64_t kDeadlineNs = 60'000'000'000;
constexpr std::size_t kRanks = 3;
constexpr std::size_t kThreads = 4;  ///< of each rank

// --- collectives of one engine -------------------------------------------------------------------

constexpr base::RegionShape kShape{.cells = 32, .banks = 8, .bulk_banks = 4, .bulk_bytes = 65536};

/// Lets each thread of each rank make calls on the team with the thread's number, one after the
/// other. Returns the first error of each thread, or an empty text.
std::vector<std::string> call_in_threads(TurnKind turn, std::uint64_t deadline_ns,
                                         std::size_t rounds) {
    VirtualJob job({.segment_bytes = 1 << 22,
                    .node_of_rank = {0, 0, 1},
                    .seed = 5,
                    .profile = {.delay_max = 10, .straggler_delay_max = 100, .threads = true}},
                   {.timeout_ns = deadline_ns, .abort_on_timeout = true}, turn);
    std::deque<TeamCall> calls;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
        const VirtualTeam& team = job.add_team({.members = {0, 1, 2}, .shape = kShape});
        for (const std::uint64_t elements : {1U, 900U})
            calls.push_back(bind_call(job, team,
                                      {.collective = "allreduce",
                                       .algorithm = "a3",
                                       .elements = elements,
                                       .algebra = Algebra::affine}));
    }
    std::vector<std::string> wrong(kThreads * kRanks);
    std::vector<std::thread> threads;
    for (std::size_t index = 0; index < wrong.size(); ++index) {
        threads.emplace_back([&, index] {
            const auto rank = static_cast<Rank>(index / kThreads);
            const auto at = static_cast<std::size_t>(rank);
            const std::size_t thread = index % kThreads;
            VirtualEngine& engine = job.engine(rank);
            for (std::size_t round = 0; round < rounds && wrong[index].empty(); ++round) {
                // Varies the order of the threads from rank to rank.
                if (round % 3 == at) std::this_thread::yield();
                const TeamCall& call = calls[thread * 2 + round % 2];
                const Occurrence occurrence{5, round};
                std::vector<std::byte> input(call.bytes() + 1);
                std::vector<std::byte> output(call.bytes() + 1);
                fill_input(call, occurrence, rank, input.data());
                const run::Registers memory{.input = input.data(), .output = output.data()};
                run::TeamState& state = *job.team(thread).states[at];
                wrong[index] = engine.run(state, call.programs[at], memory, call.reducer)
                                   ? check_output(call, occurrence, rank, output.data())
                                   : "the call has failed";
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    return wrong;
}

TEST(Threads, CollectivesOfSeveralTeamsProgressConcurrently) {
    EXPECT_EQ(call_in_threads(TurnKind::divided, kDeadlineNs, 60),
              std::vector<std::string>(kThreads * kRanks));
}

// A wait that keeps the lock blocks the other threads of its rank, for whose calls other ranks may
// wait. Nothing blocks if the threads of all ranks call in the same order, so the test repeats.
TEST(Threads, WaitsThatKeepTheLockBlockOtherThreads) {
    for (int attempt = 0; attempt < 20; ++attempt) {
        const auto errors = call_in_threads(TurnKind::shared, 200'000'000, 400);
        if (errors != std::vector<std::string>(kThreads * kRanks)) return;
    }
    ADD_FAILURE() << "no call was blocked by a wait of another thread";
}

// --- one-sided calls of one rank -----------------------------------------------------------------

/// Ranks over the virtual fabric, each used by several threads. The fabric permits one thread at a
/// time, so all ranks share one lock.
class SharedRanks {
  public:
    /// Waits of one rank.
    struct Drive {
        SharedRanks* shared;
        base::Failure timeout;

        template <class Ended, class Waits>
        bool await(Ended ended, Waits waits, Rank) {
            const std::uint64_t deadline = base::monotonic_ns() + kDeadlineNs;
            while (!ended()) {
                if (base::monotonic_ns() > deadline) {
                    timeout = base::fail(Status::timeout, "{}", waits());
                    return false;
                }
                shared->step();
                shared->turn.give_way();
            }
            return true;
        }
        [[nodiscard, maybe_unused]] static std::set<Rank> deaths() { return {}; }
        [[nodiscard, maybe_unused]] const base::Failure& failure() const { return timeout; }
    };
    using Calls = run::OneSided<link::Wire, Drive>;

    SharedRanks(const FabricSetting& setting, std::vector<int> nodes, std::uint64_t seed)
        : random_(base::Random(seed).stream(21)),
          network_({.segment_bytes = kSegment, .node_of_rank = std::move(nodes), .seed = seed}),
          fabric_(fabric_over(network_, setting, seed, random_)) {
        const run::OneSidedArea area{.offset = 0, .ranks = network_.size()};
        heap_ = (area.bytes() + 63) / 64 * 64;
        for (Rank rank = 0; rank < network_.size(); ++rank) {
            link::Wire& wire = open_wire(wires_, network_, fabric_, rank);
            Drive& drive = drives_.emplace_back(Drive{this, {}});
            Calls& made = calls.emplace_back(wire, drive, area, rank);
            serve_onesided(wire, made);
        }
    }

    void step() { wires_[random_.below(wires_.size())].progress(); }
    [[nodiscard]] std::uint64_t at(std::size_t word) const { return heap_ + word * 8; }
    std::uint64_t& word(Rank rank, std::size_t number) {
        return *reinterpret_cast<std::uint64_t*>(network_.segment(rank) + at(number));
    }
    [[nodiscard]] Rank size() const { return network_.size(); }
    /// Returns the description of a rank's wait that timed out, or an empty text.
    [[nodiscard]] const std::string& failure(Rank rank) const {
        return drives_[static_cast<std::size_t>(rank)].timeout.text;
    }

    Turn turn{TurnKind::divided};
    std::deque<Calls> calls;

  private:
    static constexpr std::uint64_t kSegment = std::uint64_t{1} << 20;

    base::Random random_;
    VirtualNetwork network_;
    VirtualFabric fabric_;
    std::uint64_t heap_ = 0;
    std::deque<link::Wire> wires_;
    std::deque<Drive> drives_;
};

// Words of each rank's heap: a counter that all threads change, and kWords words for each thread of
// each rank, which only that thread writes.
constexpr std::size_t kSum = 0;
constexpr std::size_t kWords = 24;
std::size_t own_word(Rank origin, std::size_t thread, std::size_t number) {
    return 64 + (static_cast<std::size_t>(origin) * kThreads + thread) * 64 + number;
}

const std::byte* bytes_of(const std::uint64_t& word) {
    return reinterpret_cast<const std::byte*>(&word);
}

/// One thread's operations, and its model of the words that only this thread writes.
class Worker {
  public:
    Worker(SharedRanks& shared, Rank rank, std::size_t thread, std::uint64_t seed)
        : shared_(shared),
          calls_(shared.calls[static_cast<std::size_t>(rank)]),
          rank_(rank),
          thread_(thread),
          random_(base::Random(seed).stream(static_cast<std::uint64_t>(rank) * 16 + thread)),
          models_(static_cast<std::size_t>(shared.size()), std::vector<std::uint64_t>(kWords)) {
        const auto hold = shared_.turn.take();
        if (thread % 2 == 1) stream_ = calls_.streams().open();
    }

    void run(std::size_t operations) {
        for (std::size_t i = 0; i < operations && wrong.empty(); ++i) act();
        const auto hold = shared_.turn.take();
        if (!calls_.quiet(stream_)) fail();
    }

    std::string wrong;        ///< first error; empty: none
    std::uint64_t added = 0;  ///< sum of the values added to the counters

  private:
    /// Makes one random operation on a random rank.
    void act() {
        const auto hold = shared_.turn.take();
        const auto peer =
            static_cast<Rank>(random_.below(static_cast<std::uint64_t>(shared_.size())));
        const std::size_t number = random_.below(kWords);
        const std::uint64_t at = shared_.at(own_word(rank_, thread_, number));
        std::uint64_t& model = models_[static_cast<std::size_t>(peer)][number];
        const std::uint64_t value = random_();
        switch (random_.below(7)) {
            case 0:
                calls_.fence(stream_);
                check(calls_.put(peer, at, bytes_of(value), 8, Return::reusable, stream_));
                model = value;
                break;
            case 1: {
                std::uint64_t block[kWords];
                std::iota(block, block + kWords, value);
                calls_.fence(stream_);
                check(calls_.put(peer, shared_.at(own_word(rank_, thread_, 0)), bytes_of(block[0]),
                                 sizeof block, Return::reusable, stream_));
                models_[static_cast<std::size_t>(peer)].assign(block, block + kWords);
                break;
            }
            case 2: {
                std::uint64_t old = 0;
                calls_.fence(stream_);
                check(calls_.change(peer, at, {RequestKind::swap, 8, value, 0}, &old,
                                    Return::reusable, stream_));
                model = value;  // the fence orders the request after earlier puts
                break;
            }
            case 3:
                added += value % 100;
                check(calls_.change(peer, shared_.at(kSum), {RequestKind::add, 8, value % 100, 0},
                                    nullptr, Return::at_once, stream_));
                break;
            case 4: {
                std::uint64_t old = 0;
                added += value % 100;
                check(calls_.change(peer, shared_.at(kSum), {RequestKind::add, 8, value % 100, 0},
                                    &old, Return::reusable, stream_));
                break;
            }
            case 5:
                calls_.fence(stream_);
                check(calls_.put_signal(peer, at, bytes_of(value), 8,
                                        {shared_.at(kSum), value % 7, true}, Return::reusable,
                                        stream_));
                added += value % 7;
                model = value;
                break;
            default: {
                std::uint64_t seen[kWords];
                check(calls_.quiet(stream_));
                check(calls_.get(peer, reinterpret_cast<std::byte*>(seen),
                                 shared_.at(own_word(rank_, thread_, 0)), sizeof seen,
                                 Return::reusable, stream_));
                for (std::size_t i = 0; i < kWords && wrong.empty(); ++i)
                    if (seen[i] != models_[static_cast<std::size_t>(peer)][i])
                        wrong = fmt::format(
                            "rank {} thread {}: word {} of rank {} is {:#x}, not {:#x}", rank_,
                            thread_, i, peer, seen[i], models_[static_cast<std::size_t>(peer)][i]);
            }
        }
    }
    void check(bool done) {
        if (!done && wrong.empty()) fail();
    }
    void fail() {
        wrong = fmt::format("rank {} thread {}: {}", rank_, thread_, shared_.failure(rank_));
    }

    SharedRanks& shared_;
    SharedRanks::Calls& calls_;
    Rank rank_;
    std::size_t thread_;
    base::Random random_;
    std::vector<std::vector<std::uint64_t>> models_;
    run::Stream* stream_ = nullptr;
};

void expect_right(const FabricSetting& setting, std::uint64_t seed) {
    SharedRanks shared(setting, {0, 1, 1}, seed);
    std::deque<Worker> workers;
    for (Rank rank = 0; rank < shared.size(); ++rank)
        for (std::size_t thread = 0; thread < kThreads; ++thread)
            workers.emplace_back(shared, rank, thread, seed);
    std::vector<std::thread> threads;
    for (Worker& worker : workers)
        threads.emplace_back([&worker] { worker.run(full_mode() ? 2000 : 120 / kSlowdown + 60); });
    for (std::thread& thread : threads) thread.join();
    std::uint64_t added = 0;
    std::uint64_t stored = 0;
    for (const Worker& worker : workers) {
        EXPECT_EQ(worker.wrong, "") << "seed " << seed;
        added += worker.added;
    }
    for (Rank rank = 0; rank < shared.size(); ++rank) stored += shared.word(rank, kSum);
    EXPECT_EQ(stored, added) << "seed " << seed;
}

TEST(Threads, OneSidedCallsOfOneRankAreRight) {
    const std::uint64_t last = full_mode() ? 20 : 2;
    for (const FabricSetting& setting :
         {counted(), delivered(), ordered(), ordered_cells(), with_signals(), counted_torn()})
        for (std::uint64_t seed = 1; seed <= last; ++seed) expect_right(setting, seed);
}

}  // namespace
}  // namespace weft::test
