// SPDX-License-Identifier: BSD-3-Clause
// Goal: fence, quiet, signals and atomic operations work on every fabric that keeps the promises of
// its setting. Controls: they fail if the fabric breaks a promise.
// Method: the real wire runs over the virtual fabric, with one seed for each run. Each rank of a
// ring puts data and a flag to the next rank, which checks the data. Without the fence, or with a
// broken promise, some seed must show old data after a new flag.
#include <numeric>

#include "tests/support/onesided_ranks.hpp"

namespace weft::test {
namespace {

using base::RemoteCompletion;
using link::Notify;
using run::RequestKind;
using run::Return;

constexpr std::uint64_t kControlSeeds = 40;

static_assert(run::Network<link::Wire>);

/// The call that orders a flag after its data.
enum class Order : std::uint8_t { fence, quiet, nothing, signal };

/// A ring: each rank puts data and a flag to the next rank, and checks the data of its predecessor.
/// Then it puts a credit back, so that the next round may overwrite the data.
/// run() returns a description of the first error, or an empty text.
class Ring {
  public:
    Ring(Ranks& ranks, Order order, std::uint64_t rounds)
        : ranks_(ranks),
          order_(order),
          rounds_(rounds),
          states_(static_cast<std::size_t>(ranks.size())) {}

    std::string run() {
        std::uint64_t turns = 0;
        while (wrong_.empty() && !::testing::Test::HasFailure()) {
            if (std::ranges::all_of(states_,
                                    [&](const State& state) { return state.seen == rounds_; }))
                return wrong_;
            if (++turns > 2'000'000) return "the ring makes no progress";
            const auto rank = static_cast<Rank>(ranks_.random().below(states_.size()));
            write(rank);
            check_arrival(rank);
            ranks_.step();
        }
        return wrong_;
    }

  private:
    struct State {
        std::uint64_t written = 0;  ///< last round sent
        std::uint64_t seen = 0;     ///< last round received and checked
        std::uint64_t words = 0;    ///< length of `source` in this round
        std::vector<std::uint64_t> source = std::vector<std::uint64_t>(kDataMax);
    };
    State& state(Rank rank) { return states_[static_cast<std::size_t>(rank)]; }
    static std::uint64_t words_of(std::uint64_t round) { return 1 + round * 37 % kDataMax; }

    void write(Rank rank) {
        State& mine = state(rank);
        if (mine.written == rounds_ || ranks_.word(rank, kCredit) != mine.written) return;
        const std::uint64_t round = ++mine.written;
        const Rank next = (rank + 1) % ranks_.size();
        auto& calls = ranks_[rank];
        mine.words = words_of(round);
        for (std::size_t i = 0; i < mine.words; ++i) mine.source[i] = round << 32 | i;
        const auto* from = reinterpret_cast<const std::byte*>(mine.source.data());
        if (order_ == Order::signal) {
            calls.put_signal(next, ranks_.place(rank, next, kData), from, mine.words * 8,
                             {ranks_.place(rank, next, kFlag), round, false}, Return::reusable);
            std::ranges::fill(mine.source, 0);
            return;
        }
        calls.put(next, ranks_.place(rank, next, kData), from, mine.words * 8, Return::reusable);
        std::ranges::fill(mine.source, 0);  // a read of the source from here on is an error
        if (order_ == Order::fence) calls.fence();
        if (order_ == Order::quiet) calls.quiet();
        calls.put(next, ranks_.place(rank, next, kFlag), reinterpret_cast<const std::byte*>(&round),
                  8, Return::reusable);
    }

    void check_arrival(Rank rank) {
        State& mine = state(rank);
        const std::uint64_t flag = ranks_.word(rank, kFlag);
        if (flag == mine.seen) return;
        if (flag != mine.seen + 1) {
            wrong_ = fmt::format("rank {}: flag {} after {}", rank, flag, mine.seen);
            return;
        }
        ++mine.seen;
        for (std::size_t i = 0; i < words_of(flag); ++i) {
            if (ranks_.word(rank, kData + i) == (flag << 32 | i)) continue;
            wrong_ = fmt::format("rank {}: word {} is {:#x} after flag {}", rank, i,
                                 ranks_.word(rank, kData + i), flag);
            return;
        }
        const Rank before = (rank + ranks_.size() - 1) % ranks_.size();
        ranks_[rank].put(before, ranks_.place(rank, before, kCredit),
                         reinterpret_cast<const std::byte*>(&flag), 8, Return::reusable);
    }

    Ranks& ranks_;
    Order order_;
    std::uint64_t rounds_;
    std::vector<State> states_;
    std::string wrong_;
};

/// Kind of target memory. The owner of `by_request` memory accesses it for its peers.
enum class Memory : std::uint8_t { segment, registered, by_request };

void expect_right(const FabricSetting& setting, Order order, Memory memory = Memory::segment) {
    for (std::uint64_t seed = 1; seed <= seed_count() && !::testing::Test::HasFailure(); ++seed) {
        Ranks ranks(setting, layout(seed), seed);
        if (memory != Memory::segment) ranks.register_words(memory == Memory::registered);
        EXPECT_EQ(Ring(ranks, order, 40).run(), "") << "seed " << seed;
        for (Rank rank = 0; rank < ranks.size(); ++rank) {
            EXPECT_TRUE(ranks[rank].quiet());
            EXPECT_FALSE(ranks.is_busy(rank));
        }
    }
}

void expect_caught(const FabricSetting& setting, Order order, Memory memory = Memory::segment) {
    for (std::uint64_t seed = 1; seed <= kControlSeeds; ++seed) {
        Ranks ranks(setting, {0, 1}, seed);
        if (memory != Memory::segment) ranks.register_words(memory == Memory::registered);
        if (!Ring(ranks, order, 20).run().empty()) return;
    }
    ADD_FAILURE() << kControlSeeds << " seeds show no old data after a new flag";
}

// --- Order ---------------------------------------------------------------------------------------

TEST(OneSided, AFenceOrdersPuts) {
    for (const FabricSetting& setting :
         {counted(), delivered(), ordered(), ordered_cells(), counted_torn()})
        expect_right(setting, Order::fence);
}
TEST(OneSided, AQuietWaitsForDelivery) {
    for (const FabricSetting& setting :
         {counted(), delivered(), ordered(), counted_torn(), with_signals()})
        expect_right(setting, Order::quiet);
}
TEST(OneSided, RegisteredMemoryKeepsTheSameOrder) {
    for (const FabricSetting& setting :
         {counted(), delivered(), ordered(), ordered_cells(), counted_torn(), with_signals()}) {
        for (const Order order : {Order::fence, Order::quiet, Order::signal})
            expect_right(setting, order, Memory::registered);
    }
    for (const Order order : {Order::fence, Order::signal})
        expect_right(counted_torn(), order, Memory::by_request);
}
/// Rank 0 requests that local peer 1 store a word, then stores a word of rank 1 itself. With a
/// fence the request is executed first; without (the control), later.
TEST(OneSided, AFenceOrdersAStoreAfterARequestToALocalPeer) {
    for (std::uint64_t seed = 1; seed <= seed_count(); ++seed) {
        Ranks ranks(counted(), {0, 0}, seed);
        ranks.register_words(/*with_network=*/false);
        for (std::uint64_t round = 1; round <= 20; ++round) {
            const bool fenced = round % 2 == 0;
            const auto* value = reinterpret_cast<const std::byte*>(&round);
            ASSERT_TRUE(ranks[0].put(1, ranks.place(0, 1, kData), value, 8, Return::reusable));
            ASSERT_TRUE(!fenced || ranks[0].fence());
            ASSERT_TRUE(ranks[0].put(1, ranks.at(kFlag), value, 8, Return::reusable));
            EXPECT_EQ(ranks.word(1, kData) == round, fenced)
                << "seed " << seed << ", round " << round;
            ASSERT_TRUE(ranks[0].quiet());
            EXPECT_EQ(ranks.word(1, kData), round);
        }
    }
}
TEST(OneSided, SignalsFollowTheirData) {
    for (const FabricSetting& setting :
         {counted(), delivered(), ordered(), ordered_cells(), with_signals()})
        expect_right(setting, Order::signal);
}

TEST(OneSided, EncodedSignalsAreDecodedExactly) {
    // An offset too large to encode, so payloads count words from the heap's start. kWithTeamWords
    // can also encode the 64 words from offset 4096 on.
    constexpr std::uint64_t kBegin = std::uint64_t{5} << 30;
    constexpr run::SignalWords kFromHeap{.heap = kBegin};
    constexpr run::SignalWords kWithTeamWords{
        .team_words = 4096, .team_word_count = 64, .heap = kBegin};
    using run::onesided::kPayloadSharedBits;
    // Offset of the word, value, and whether the value is added instead of stored.
    std::vector<run::Signal> signals{{kBegin, 1, false}, {kBegin + 8, 0, false}};
    // Each format divides kPayloadSharedBits between the number of the word and the value.
    for (const unsigned bits : run::onesided::kPayloadWordBits) {
        const std::uint64_t last = kBegin + (std::uint64_t{8} << bits) - 8;
        const std::uint64_t value_max = (std::uint64_t{1} << (kPayloadSharedBits - bits)) - 1;
        for (const bool adds : {false, true}) signals.push_back({last, value_max, adds});
        EXPECT_FALSE(run::onesided::payload_of({last, value_max + 1, false}, kFromHeap)) << bits;
    }
    for (const run::Signal& signal : signals) {
        const auto payload = run::onesided::payload_of(signal, kFromHeap);
        ASSERT_TRUE(payload && *payload != 0 && *payload >> run::onesided::kPayloadBits == 0)
            << signal.value;
        const run::Signal received = run::onesided::signal_of(*payload, kFromHeap);
        EXPECT_EQ(received.word.offset, signal.word.offset);
        EXPECT_EQ(received.value, signal.value);
        EXPECT_EQ(received.adds, signal.adds);
    }
    EXPECT_FALSE(run::onesided::payload_of({kBegin, 0, false}, kFromHeap)) << "0 means no payload";
    EXPECT_FALSE(run::onesided::payload_of({kBegin - 8, 1, false}, kFromHeap)) << "before the heap";
    const std::uint64_t end = kBegin + (std::uint64_t{8} << run::onesided::kPayloadWordBits[0]);
    EXPECT_FALSE(run::onesided::payload_of({end, 1, true}, kFromHeap)) << "no format has the word";
    for (const std::uint64_t offset : {std::uint64_t{4096}, std::uint64_t{4096 + 63 * 8}, kBegin}) {
        const auto payload = run::onesided::payload_of({offset, 1, true}, kWithTeamWords);
        ASSERT_TRUE(payload) << "offset " << offset;
        EXPECT_EQ(run::onesided::signal_of(*payload, kWithTeamWords).word.offset, offset);
    }
    for (const std::uint64_t offset : {std::uint64_t{4088}, std::uint64_t{4096 + 64 * 8}})
        EXPECT_FALSE(run::onesided::payload_of({offset, 1, true}, kWithTeamWords))
            << "offset " << offset;
}

TEST(OneSidedControls, MissingFencesBetweenCountedWritesAreCaught) {
    expect_caught(counted(), Order::nothing);
    expect_caught(counted(), Order::nothing, Memory::registered);
}
TEST(OneSidedControls, MissingFencesBetweenDeliveredWritesAreCaught) {
    FabricSetting setting = delivered();
    // A blocking put waits for its delivery, so a flag arrives early only after a completion that
    // precedes delivery.
    setting.conduct.keeps_delivery = false;
    expect_caught(setting, Order::nothing);
}
TEST(OneSidedControls, CompletionsBeforeDeliveryBreakQuiet) {
    FabricSetting setting = delivered();
    setting.conduct.keeps_delivery = false;
    expect_caught(setting, Order::quiet);
}
TEST(OneSidedControls, ImmediatesBeforeTheirDataBreakQuiet) {
    FabricSetting setting = delivered();  // data of requests is right; only the counts are early
    setting.completion = RemoteCompletion::counted;
    expect_caught(setting, Order::quiet);
}
TEST(OneSidedControls, SignalsBeforeTheirDataAreCaught) {
    FabricSetting setting = with_signals();
    setting.conduct.keeps_immediates = false;
    expect_caught(setting, Order::signal);
}
TEST(OneSidedControls, ReorderedPutsBreakTheFence) {
    FabricSetting setting = ordered();
    setting.conduct.keeps_order = false;
    setting.conduct.keeps_words = true;
    setting.whole_words = true;
    expect_caught(setting, Order::fence);
}

// --- Atomic operations, gets ---------------------------------------------------------------------

TEST(OneSided, AtomicOperationsOfLocalAndRemoteRanksAddUp) {
    for (const FabricSetting& setting : {counted(), delivered(), ordered(), ordered_cells()}) {
        for (std::uint64_t seed = 1; seed <= seed_count() && !HasFailure(); ++seed) {
            Ranks ranks(setting, layout(seed), seed);
            std::vector<std::uint64_t> sums(static_cast<std::size_t>(ranks.size()));
            std::vector<bool> drawn(400);
            for (int i = 0; i < 200; ++i) {
                const auto rank = static_cast<Rank>(ranks.random().below(sums.size()));
                const auto peer = static_cast<Rank>(ranks.random().below(sums.size()));
                const std::uint64_t add = ranks.random().below(9);
                std::uint64_t old = 0;
                ASSERT_TRUE(ranks[rank].change(peer, ranks.at(kCounter), {RequestKind::add, 8, add},
                                               &old, Return::reusable));
                EXPECT_EQ(old, sums[static_cast<std::size_t>(peer)]);
                sums[static_cast<std::size_t>(peer)] += add;
                // Tickets of rank 0: each is drawn at most once.
                ASSERT_TRUE(ranks[rank].change(0, ranks.at(kFlag), {RequestKind::add, 4, 1}, &old,
                                               Return::reusable));
                ASSERT_LT(old, drawn.size());
                EXPECT_FALSE(drawn[old]) << old;
                drawn[old] = true;
            }
            for (Rank rank = 0; rank < ranks.size(); ++rank)
                EXPECT_EQ(ranks.word(rank, kCounter), sums[static_cast<std::size_t>(rank)]);
        }
    }
}

TEST(OneSided, CompareSwapStoresOnlyOnAMatch) {
    Ranks ranks(counted(), {0, 1}, 7);
    std::uint64_t old = 0;
    // A WordChange: kind, width in bytes, operand, value to compare with.
    ASSERT_TRUE(
        ranks[0].change(1, ranks.at(kFlag), {RequestKind::swap, 8, 5, 0}, &old, Return::reusable));
    EXPECT_EQ(old, 0U);
    ASSERT_TRUE(ranks[0].change(1, ranks.at(kFlag), {RequestKind::compare_swap, 8, 9, 4}, &old,
                                Return::reusable));
    EXPECT_EQ(old, 5U);
    EXPECT_EQ(ranks.word(1, kFlag), 5U);
    ASSERT_TRUE(ranks[0].change(1, ranks.at(kFlag), {RequestKind::compare_swap, 8, 9, 5}, &old,
                                Return::reusable));
    EXPECT_EQ(old, 5U);
    EXPECT_EQ(ranks.word(1, kFlag), 9U);
}

TEST(OneSided, GetsReturnDataPutBeforeAQuiet) {
    for (FabricSetting setting :
         {counted(), delivered(), ordered(), counted_torn(), ordered_cells()}) {
        for (std::uint64_t seed = 1; seed <= seed_count() && !HasFailure(); ++seed) {
            setting.reads = seed % 2 == 0;
            Ranks ranks(setting, layout(seed), seed);
            for (std::uint64_t round = 1; round <= 10; ++round) {
                const Rank peer = static_cast<Rank>(
                    ranks.random().below(static_cast<std::uint64_t>(ranks.size())));
                const std::size_t words = 1 + ranks.random().below(kDataMax);
                std::vector<std::uint64_t> sent(words), got(words);
                std::iota(sent.begin(), sent.end(), round << 32);
                ASSERT_TRUE(ranks[0].put(peer, ranks.at(kData),
                                         reinterpret_cast<const std::byte*>(sent.data()), words * 8,
                                         Return::at_once));
                ASSERT_TRUE(ranks[0].quiet());
                const bool into_own = round % 2 == 0;  // else private memory, unknown to peers
                auto* into = reinterpret_cast<std::byte*>(
                    into_own ? &ranks.word(0, kData + kDataMax) : got.data());
                ASSERT_TRUE(ranks[0].get(peer, into, ranks.at(kData), words * 8, Return::reusable));
                if (into_own) std::memcpy(got.data(), into, words * 8);
                EXPECT_EQ(got, sent) << "seed " << seed << ", round " << round;
            }
        }
    }
}

/// Posts more writes than any pool for writes in flight holds.
TEST(OneSided, ManyWritesWithoutWaitsAreAllDelivered) {
    for (const FabricSetting& setting : {counted(), delivered(), ordered()}) {
        Ranks ranks(setting, {0, 1, 2}, 3);
        std::vector<std::uint64_t> values(4000);
        std::iota(values.begin(), values.end(), 1);
        for (Rank rank = 0; rank < 3; ++rank) {
            for (std::size_t i = 0; i < values.size(); ++i) {
                ASSERT_TRUE(ranks[rank].put((rank + 1) % 3, ranks.at(kData + i),
                                            reinterpret_cast<const std::byte*>(&values[i]), 8,
                                            Return::at_once));
            }
        }
        for (Rank rank = 0; rank < 3; ++rank) ASSERT_TRUE(ranks[rank].quiet());
        for (Rank rank = 0; rank < 3; ++rank) {
            for (std::size_t i = 0; i < values.size(); ++i)
                ASSERT_EQ(ranks.word(rank, kData + i), values[i])
                    << "rank " << rank << ", word " << i;
        }
    }
}

}  // namespace
}  // namespace weft::test
