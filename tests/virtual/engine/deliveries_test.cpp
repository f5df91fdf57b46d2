// SPDX-License-Identifier: BSD-3-Clause
// Goal: when Deliveries reports a put as delivered, the peer has the data, on every fabric that
// keeps the promises of its setting, also if puts are awaited in another order than started.
// Method: one rank puts to the others over the virtual fabric, with one seed for each run. It polls
// the puts between progress calls of random ranks. Blocks in several dimensions, and sums of
// doubles, are compared with loops.
#include <bit>

#include "tests/support/onesided_ranks.hpp"

namespace weft::test {
namespace {

using run::Waited;

class DeliveriesTest : public testing::TestWithParam<FabricSetting> {};

/// A put in flight.
struct StartedPut {
    Rank peer = 0;
    std::size_t first = 0;  ///< index of the first word in the peer's heap
    std::vector<std::uint64_t> source;
    run::Delivery delivery;
};

TEST_P(DeliveriesTest, PutsAreAtThePeerWhenTheyAreReported) {
    for (std::uint64_t seed = 1; seed <= (full_mode() ? 400 : 40); ++seed) {
        Ranks ranks(GetParam(), {0, 0, 1, 2}, seed);
        std::deque<StartedPut> puts;
        for (std::size_t number = 0; number < 12; ++number) {
            StartedPut& put = puts.emplace_back();
            put.peer = static_cast<Rank>(ranks.random().below(4));
            put.first = number * 300;
            put.source.assign(1 + ranks.random().below(number % 3 == 0 ? 1 : 300),
                              seed << 8 | number);
            ASSERT_TRUE(ranks[0].start_put(put.peer, ranks.place(0, put.peer, put.first),
                                           reinterpret_cast<const std::byte*>(put.source.data()),
                                           put.source.size() * 8, put.delivery, nullptr));
            if (ranks.random().below(4) == 0) ranks.step();
        }
        for (std::uint64_t steps = 0; !puts.empty(); ++steps) {
            ASSERT_LT(steps, 4'000'000U) << "seed " << seed;
            const auto at = puts.begin() + static_cast<long>(ranks.random().below(puts.size()));
            const Waited waited = ranks[0].deliveries().wait(at->delivery, {.at_ns = 0});
            ASSERT_NE(waited, Waited::failed) << "seed " << seed;
            if (waited == Waited::late) {
                ranks.step();
                continue;
            }
            for (std::size_t i = 0; i < at->source.size(); ++i)
                ASSERT_EQ(ranks.word(at->peer, at->first + i), at->source[i]) << "seed " << seed;
            EXPECT_EQ(ranks[0].deliveries().wait(at->delivery, {}), Waited::done);
            puts.erase(at);
        }
    }
}

TEST_P(DeliveriesTest, AWaitDrivesAndClosingAStreamCompletesItsPuts) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Ranks ranks(GetParam(), {0, 1}, seed);
        const std::vector<std::uint64_t> source(200, seed);
        const auto* from = reinterpret_cast<const std::byte*>(source.data());
        run::Delivery first, second;
        run::Stream* const stream = ranks[0].streams().open();
        ASSERT_TRUE(ranks[0].start_put(1, ranks.place(0, 1, 0), from, 1600, first, nullptr));
        ASSERT_TRUE(ranks[0].start_put(1, ranks.place(0, 1, 200), from, 1600, second, stream));
        EXPECT_EQ(ranks[0].deliveries().wait(first, {}), Waited::done);
        EXPECT_EQ(ranks.word(1, 199), seed);
        ASSERT_TRUE(ranks[0].quiet(stream));
        ranks[0].streams().close(stream);
        run::Stream* const later = ranks[0].streams().open();
        EXPECT_NE(second.rank, -1) << "not awaited";
        EXPECT_EQ(ranks[0].deliveries().wait(second, {.at_ns = 0}), Waited::done);
        EXPECT_EQ(ranks.word(1, 399), seed);
        ranks[0].streams().close(later);
    }
}

TEST_P(DeliveriesTest, QuietWaitsForGetsWithARequest) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Ranks ranks(GetParam(), {0, 1}, seed);
        for (std::size_t i = 0; i < 200; ++i) ranks.word(1, i) = seed + i;
        run::Stream* const context = ranks[0].streams().open();
        for (run::Stream* const stream : {context, static_cast<run::Stream*>(nullptr)}) {
            std::vector<std::uint64_t> into(200);
            const auto get = std::make_shared<run::StartedGet>();
            ASSERT_TRUE(ranks[0].start_unmapped_get(1, reinterpret_cast<std::byte*>(into.data()),
                                                    ranks.place(0, 1, 0), 1600, get, stream));
            ASSERT_TRUE(ranks[0].quiet(stream));
            EXPECT_EQ(get->pending, 0U);
            EXPECT_EQ(into.front(), seed);
            EXPECT_EQ(into.back(), seed + 199);
        }
        ranks[0].streams().close(context);
    }
}

/// Block (x, y, z) is word 12 x + 4 y + z of the source, and word x + 2 y + 6 z of the peer's heap.
/// Strides are in bytes.
TEST_P(DeliveriesTest, BlocksInThreeDimensionsAndSumsEqualThoseOfLoops) {
    Ranks ranks(GetParam(), {0, 0, 1}, 7);
    std::vector<std::uint64_t> source(2 * 3 * 4);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = 100 + i;
    const std::size_t counts[] = {2, 3, 4};
    const std::ptrdiff_t own[] = {96, 32, 8}, of_peer[] = {8, 16, 48};
    const run::Strided blocks{counts, of_peer, own, 8};
    const run::Strided back{counts, own, of_peer, 8};
    for (Rank peer = 0; peer < 3; ++peer) {
        const auto* from = reinterpret_cast<const std::byte*>(source.data());
        ASSERT_TRUE(ranks[0].put_strided(peer, ranks.place(0, peer, 0), from, blocks));
        ASSERT_TRUE(ranks[0].quiet());
        for (std::size_t x = 0; x < 2; ++x)
            for (std::size_t y = 0; y < 3; ++y)
                for (std::size_t z = 0; z < 4; ++z)
                    EXPECT_EQ(ranks.word(peer, x + 2 * y + 6 * z), 100 + 12 * x + 4 * y + z);
        std::vector<std::uint64_t> copies(source.size());
        auto* into = reinterpret_cast<std::byte*>(copies.data());
        ASSERT_TRUE(ranks[0].get_strided(peer, into, ranks.place(0, peer, 0), back));
        EXPECT_EQ(copies, source);
        ranks.word(peer, 40) = std::bit_cast<std::uint64_t>(0.5);
        std::uint64_t old = 0;
        const run::WordChange sum{run::RequestKind::add_real, 8,
                                  std::bit_cast<std::uint64_t>(1.25)};
        ASSERT_TRUE(
            ranks[0].change(peer, ranks.place(0, peer, 40), sum, &old, run::Return::reusable));
        ASSERT_TRUE(
            ranks[0].change(peer, ranks.place(0, peer, 40), sum, nullptr, run::Return::at_once));
        ASSERT_TRUE(ranks[0].quiet());
        EXPECT_EQ(std::bit_cast<double>(old), 0.5);
        EXPECT_EQ(std::bit_cast<double>(ranks.word(peer, 40)), 3.0);
    }
}

INSTANTIATE_TEST_SUITE_P(Settings, DeliveriesTest,
                         testing::Values(counted(), delivered(), ordered(), ordered_cells(),
                                         with_signals(), counted_torn()));

}  // namespace
}  // namespace weft::test
