// SPDX-License-Identifier: BSD-3-Clause
// Goal: atomic operations of all kinds, strided transfers, streams and quiets with a deadline work
// on every fabric. Method: the real wire runs over the virtual fabric, and a serial model gives the
// contents of each word.
#include <numeric>

#include "tests/support/onesided_ranks.hpp"

namespace weft::test {
namespace {

using run::RequestKind;
using run::Return;

/// Applies an operation to a word of 8 bytes. With width 4 it changes only the lower half.
void apply_to_model(std::uint64_t& word, const run::WordChange& atomic) {
    const std::uint64_t mask = atomic.width == 4 ? 0xffff'ffffU : ~std::uint64_t{0};
    const std::uint64_t have = word & mask;
    std::uint64_t made = have;
    switch (atomic.kind) {
        case RequestKind::add:
            made = have + atomic.operand;
            break;
        case RequestKind::band:
            made = have & atomic.operand;
            break;
        case RequestKind::bor:
            made = have | atomic.operand;
            break;
        case RequestKind::bxor:
            made = have ^ atomic.operand;
            break;
        case RequestKind::compare_swap:
            made = have == (atomic.compare & mask) ? atomic.operand : have;
            break;
        case RequestKind::swap:
        case RequestKind::store:
            made = atomic.operand;
            break;
        default:
            break;
    }
    word = (word & ~mask) | (made & mask);
}

/// Operations without a result, with a result at the next quiet, and with a result at once.
TEST(OneSided, EveryKindOfAtomicOperationIsAppliedOnce) {
    constexpr RequestKind kKinds[] = {
        RequestKind::add,  RequestKind::swap, RequestKind::store, RequestKind::load,
        RequestKind::band, RequestKind::bor,  RequestKind::bxor,  RequestKind::compare_swap};
    for (const FabricSetting& setting :
         {counted(), delivered(), ordered(), ordered_cells(), with_signals()}) {
        for (std::uint64_t seed = 1; seed <= seed_count() / 2 && !HasFailure(); ++seed) {
            Ranks ranks(setting, {0, 1}, seed);
            if (seed % 3 != 0) ranks.register_words(seed % 3 == 1);
            std::uint64_t model[2] = {0, 0};
            for (int i = 0; i < 150; ++i) {
                const auto peer = static_cast<Rank>(ranks.random().below(2));
                run::WordChange atomic{
                    .kind = kKinds[ranks.random().below(std::size(kKinds))],
                    .width = static_cast<std::uint8_t>(4 + 4 * ranks.random().below(2)),
                    .operand = ranks.random().below(1 << 20),
                    .compare = model[peer]};
                std::uint64_t expected = model[peer], old = 0;
                if (atomic.width == 4) expected &= 0xffff'ffffU;
                apply_to_model(model[peer], atomic);
                const bool has_result = ranks.random().below(2) == 0;
                if (!has_result && atomic.kind != RequestKind::load) {
                    ASSERT_TRUE(ranks[0].change(peer, ranks.place(0, peer, kCounter), atomic,
                                                nullptr, Return::at_once));
                    ASSERT_TRUE(ranks[0].quiet());
                } else if (ranks.random().below(2) == 0) {
                    ASSERT_TRUE(ranks[0].change(peer, ranks.place(0, peer, kCounter), atomic, &old,
                                                Return::at_once));
                    ASSERT_TRUE(ranks[0].quiet());
                    EXPECT_EQ(old, atomic.kind == RequestKind::store ? 0 : expected)
                        << "seed " << seed;
                } else {
                    ASSERT_TRUE(ranks[0].change(peer, ranks.place(0, peer, kCounter), atomic, &old,
                                                Return::reusable));
                    EXPECT_EQ(old, atomic.kind == RequestKind::store ? 0 : expected)
                        << "seed " << seed;
                }
                ASSERT_EQ(ranks.word(peer, kCounter), model[peer])
                    << "seed " << seed << ", operation " << i;
            }
        }
    }
}

TEST(OneSided, StridedBlocksAreStoredAtTheirPlaces) {
    for (FabricSetting setting : {counted(), delivered(), ordered(), counted_torn()}) {
        for (std::uint64_t seed = 1; seed <= seed_count() && !HasFailure(); ++seed) {
            setting.reads = seed % 2 == 0;
            Ranks ranks(setting, layout(seed), seed);
            if (seed % 3 != 0) ranks.register_words(seed % 3 == 1);
            const Rank peer = ranks.size() - 1;
            std::vector<std::uint64_t> sent(200), got(200);
            std::iota(sent.begin(), sent.end(), 1000);
            const std::size_t count = 20;
            const std::ptrdiff_t backward = -24, forward = 16;  // bytes
            const run::Strided out{{&count, 1}, &backward, &forward, std::size_t{8} << seed % 2};
            ASSERT_TRUE(ranks[0].put_strided(peer, ranks.place(0, peer, kData + 100),
                                             reinterpret_cast<const std::byte*>(sent.data()), out));
            ASSERT_TRUE(ranks[0].quiet());
            const run::Strided back{{&count, 1}, &forward, &backward, 8};
            ASSERT_TRUE(ranks[0].get_strided(peer, reinterpret_cast<std::byte*>(got.data()),
                                             ranks.place(0, peer, kData + 100), back));
            for (std::size_t i = 0; i < 20; ++i) {
                EXPECT_EQ(ranks.word(peer, kData + 100 - 3 * i), sent[2 * i]);
                EXPECT_EQ(got[2 * i], sent[2 * i]) << "seed " << seed << ", block " << i;
            }
        }
    }
}

TEST(OneSided, AStreamsQuietWaitsOnlyForItsOperations) {
    for (const FabricSetting& setting : {counted(), ordered()}) {
        for (std::uint64_t seed = 1; seed <= seed_count() && !HasFailure(); ++seed) {
            Ranks ranks(setting, {0, 1, 2}, seed);
            run::Stream* const stream = ranks[0].streams().open();
            std::vector<std::uint64_t> values(300, seed);
            const auto* from = reinterpret_cast<const std::byte*>(values.data());
            ASSERT_TRUE(ranks[0].put(1, ranks.at(kData), from, 2400, Return::at_once));
            ASSERT_TRUE(ranks[0].put(2, ranks.at(kData), from, 2400, Return::at_once, stream));
            EXPECT_TRUE(ranks.is_busy(0));
            ASSERT_TRUE(ranks[0].quiet(stream));
            EXPECT_TRUE(ranks.is_busy(0)) << "the default stream is unchanged";
            for (std::size_t i = 0; i < values.size(); ++i)
                ASSERT_EQ(ranks.word(2, kData + i), seed);
            ASSERT_TRUE(ranks[0].quiet_all());
            EXPECT_FALSE(ranks.is_busy(0));
            for (std::size_t i = 0; i < values.size(); ++i)
                ASSERT_EQ(ranks.word(1, kData + i), seed);
            ranks[0].streams().close(stream);
        }
    }
}

/// The deadline has passed, so the first quiet gives up before the peer makes progress.
TEST(OneSided, AQuietThatTimedOutCanBeRepeated) {
    for (const FabricSetting& setting : {counted(), delivered(), ordered()}) {
        Ranks ranks(setting, {0, 1}, 5);
        const std::uint64_t value = 42;
        ASSERT_TRUE(ranks[0].put(1, ranks.at(kData), reinterpret_cast<const std::byte*>(&value), 8,
                                 Return::at_once));
        ASSERT_TRUE(ranks[0].change(1, ranks.at(kFlag), {RequestKind::bor, 4, 6}, nullptr,
                                    Return::at_once));
        EXPECT_EQ(ranks[0].quiet(nullptr, {.at_ns = 1}), run::Waited::late);
        EXPECT_TRUE(ranks.is_busy(0));
        ASSERT_TRUE(ranks[0].quiet());
        EXPECT_FALSE(ranks.is_busy(0));
        EXPECT_EQ(ranks.word(1, kData), 42U);
        EXPECT_EQ(ranks.word(1, kFlag), 6U);
    }
}

/// An operation without a result gets no reply, so its origin does not wait. The origin of an
/// operation with a result waits for the peer.
TEST(OneSided, AtomicOperationsWithoutResultDoNotWait) {
    for (const FabricSetting& setting : {with_signals(), ordered(), ordered_cells()}) {
        Ranks ranks(setting, {0, 1}, 11);
        for (std::uint64_t i = 0; i < 10; ++i)
            ASSERT_TRUE(ranks[0].change(1, ranks.at(kCounter), {RequestKind::add, 8, 3}, nullptr,
                                        Return::at_once));
        const std::uint64_t steps_without_results = ranks.steps();
        ASSERT_TRUE(ranks[0].quiet());
        EXPECT_EQ(ranks.word(1, kCounter), 30U);
        const std::uint64_t before = ranks.steps();
        std::uint64_t old = 0;
        for (std::uint64_t i = 0; i < 10; ++i)
            ASSERT_TRUE(ranks[0].change(1, ranks.at(kCounter), {RequestKind::add, 8, 3}, &old,
                                        Return::reusable));
        EXPECT_EQ(old, 57U);
        EXPECT_LT(4 * steps_without_results, ranks.steps() - before);
    }
}

}  // namespace
}  // namespace weft::test
