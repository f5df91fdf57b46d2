// SPDX-License-Identifier: BSD-3-Clause
// Goal: a buffer that local peers cannot map is copied to the owner's segment (bounced) if that
// costs less than copies by the kernel. Bytes that peers write are copied back, and no other bytes
// change. Method: the process is its own peer, with ordinary memory as its segment.
#include "link/direct/direct_memory.hpp"
#include "tests/unit/direct/own_peer.hpp"

namespace weft::link::testing {
namespace {

TEST(BounceArea, TheLowestFreePieceIsTaken) {
    const Pages memory(8);
    BounceArea area({memory.at(), memory.bytes()});
    EXPECT_EQ(area.take(4 * kPage + 1), nullptr) << "a piece has at most half of the area";
    std::byte* const first = area.take(100);
    std::byte* const second = area.take(2 * kPage + 1);
    std::byte* const third = area.take(4 * kPage);
    EXPECT_EQ(first, memory.at());
    EXPECT_EQ(second, memory.at() + kPage);
    EXPECT_EQ(third, memory.at() + 4 * kPage);
    EXPECT_EQ(area.take(1), nullptr);
    area.give_back(second);
    EXPECT_EQ(area.take(3 * kPage + 1), nullptr);
    EXPECT_EQ(area.take(kPage), second);
    EXPECT_EQ(area.take(2 * kPage), second + kPage);
    area.give_back(first);
    EXPECT_EQ(area.take(kPage), first);
    area.give_back(memory.at() + 7 * kPage);  // has no effect: no piece starts at this address
    EXPECT_EQ(area.take(1), nullptr);
    BounceArea many({memory.at(), memory.bytes()});
    for (std::size_t i = 0; i < BounceArea::kPieces; ++i) EXPECT_NE(many.take(1), nullptr);
    EXPECT_EQ(many.take(1), nullptr);
}

/// A rank with a segment of 64 pages; the last 32 are the area for bounced buffers.
class Bounced : public ::testing::Test {
  protected:
    [[nodiscard]] DirectOptions options(DirectMode mode = DirectMode::automatic) const {
        return {.segment = segment_.at(),
                .bounce = {segment_.at() + 32 * kPage, 32 * kPage},
                .processes = {::getpid()},
                .mode = mode,
                .limits = {.bytes_max = 1U << 30}};
    }
    /// Returns the bounced memory as peers see it.
    [[nodiscard]] std::byte* seen(const base::Reach& reach) const {
        return segment_.at() + reach.offset;
    }
    /// Returns the copies that `peers` peers make if each reads the whole buffer.
    static base::Copies for_peers(std::uint32_t peers, std::uint64_t bytes) {
        return {peers, peers * bytes};
    }

    Pages segment_{64};
    Pages buffer_{16};
};

TEST_F(Bounced, PeersUseTheCopyAndTheirWritesAreCopiedBack) {
    DirectMemory direct(options());
    std::byte* const data = buffer_.at() + 3;
    constexpr std::size_t kBytes = 5 * kPage;
    fill(data, kBytes, 1);
    const auto reads = direct.expose(data, kBytes, Access::read, for_peers(3, kBytes));
    const auto writes = direct.expose(data + kBytes, kBytes, Access::write, for_peers(3, kBytes));
    ASSERT_EQ(reads.reach.method, AccessMethod::bounced);
    ASSERT_EQ(writes.reach.method, AccessMethod::bounced);
    EXPECT_EQ(matching(seen(reads.reach), kBytes, 1), kBytes);
    EXPECT_EQ(seen(writes.reach), writes.alias) << "the owner uses the same copy";
    fill(seen(writes.reach.at(100)), 1000, 7);
    EXPECT_EQ(data[kBytes + 100], std::byte{0}) << "copied back before unexpose()";
    direct.unexpose(reads);
    direct.unexpose(writes);
    EXPECT_EQ(matching(data, kBytes, 1), kBytes);
    EXPECT_EQ(matching(data + kBytes + 100, 1000, 7), 1000U);
    for (const std::size_t beside : {kBytes + 99, kBytes + 1100, 2 * kBytes})
        EXPECT_EQ(data[beside], std::byte{0}) << "byte " << beside;
    const auto again = direct.expose(data, kBytes, Access::read, for_peers(3, kBytes));
    EXPECT_EQ(again.alias, reads.alias) << "the lowest free piece is used again";
    direct.unexpose(again);
}

/// An owner may change its buffer while peers read the copy, if the area has room for another copy
/// of this size.
TEST_F(Bounced, AnOwnerMayReuseABufferThatPeersOnlyRead) {
    DirectMemory direct(options());
    const auto expose = [&](std::uint64_t bytes, Access access) {
        return direct.expose(buffer_.at(), bytes, access, for_peers(7, bytes));
    };
    const auto written = expose(8 * kPage, Access::overwrite);
    EXPECT_EQ(written.reach.method, AccessMethod::bounced);
    EXPECT_FALSE(written.separate_copy);
    const auto first = expose(8 * kPage, Access::read);
    const auto second = expose(8 * kPage, Access::read);
    EXPECT_TRUE(first.separate_copy);
    EXPECT_TRUE(second.separate_copy);
    const auto last = expose(8 * kPage, Access::read);
    EXPECT_EQ(last.reach.method, AccessMethod::bounced);
    EXPECT_FALSE(last.separate_copy) << "another buffer of this length would find no room";
    fill(buffer_.at(), 8 * kPage, 9);
    EXPECT_EQ(matching(seen(first.reach), 8 * kPage, 9), 0U) << "peers read the copy";
    direct.unexpose(first);
    const auto next = expose(8 * kPage, Access::read);
    EXPECT_EQ(next.alias, first.alias);
    for (const auto& exposure : {written, second, last, next}) direct.unexpose(exposure);
}

TEST_F(Bounced, AnOverwrittenBufferIsOnlyCopiedBack) {
    DirectMemory direct(options());
    constexpr std::size_t kBytes = 8 * kPage;
    fill(buffer_.at(), kBytes, 1);
    const auto exposure =
        direct.expose(buffer_.at(), kBytes, Access::overwrite, for_peers(3, kBytes));
    ASSERT_EQ(exposure.reach.method, AccessMethod::bounced);
    EXPECT_EQ(matching(exposure.alias, kBytes, 1), 0U) << "the old contents must not be copied";
    fill(seen(exposure.reach), kBytes, 2);
    direct.unexpose(exposure);
    EXPECT_EQ(matching(buffer_.at(), kBytes, 2), kBytes);
}

TEST_F(Bounced, TheKernelCopiesIfThatIsCheaperOrTheAreaIsFull) {
    DirectMemory direct(options());
    const auto method = [&](std::uint64_t bytes, Access access, const base::Copies& copies) {
        const auto exposure = direct.expose(buffer_.at(), bytes, access, copies);
        direct.unexpose(exposure);
        return exposure.reach.method;
    };
    // base::Copies: number, bytes in total, number of peers that copy at the same time.
    EXPECT_EQ(method(16 * kPage, Access::read, {1, 16 * kPage}), AccessMethod::bounced);
    EXPECT_EQ(method(16 * kPage, Access::write, {1, 1000}), AccessMethod::copied);
    EXPECT_EQ(method(16 * kPage, Access::read, {0, 0}), AccessMethod::copied)
        << "no peer needs the buffer";
    EXPECT_EQ(method(16 * kPage, Access::read, {3, 3 * kPage, 3}), AccessMethod::bounced);
    DirectOptions wide = options();
    wide.processors = 4;
    DirectMemory side_by_side(std::move(wide));
    EXPECT_EQ(
        side_by_side.expose(buffer_.at(), 16 * kPage, Access::read, {3, 3 * kPage, 3}).reach.method,
        AccessMethod::copied)
        << "with four processors, peers copy their parts at the same time";
    const auto first = direct.expose(buffer_.at(), 16 * kPage, Access::read, {7, 7 * 16 * kPage});
    const auto second = direct.expose(buffer_.at(), 16 * kPage, Access::read, {7, 7 * 16 * kPage});
    const auto third = direct.expose(buffer_.at(), 16 * kPage, Access::read, {7, 7 * 16 * kPage});
    EXPECT_EQ(second.reach.method, AccessMethod::bounced);
    EXPECT_EQ(third.reach.method, AccessMethod::copied);
    for (const auto& exposure : {first, second, third}) direct.unexpose(exposure);
    const Pages large(40);
    EXPECT_EQ(
        direct.expose(large.at(), large.bytes(), Access::read, {1, large.bytes()}).reach.method,
        AccessMethod::copied)
        << "more than half of the area";
    DirectMemory copying(options(DirectMode::copy));
    EXPECT_EQ(
        copying.expose(buffer_.at(), 16 * kPage, Access::read, {7, 7 * 16 * kPage}).reach.method,
        AccessMethod::copied);
}

/// Peers that have not detected the failure may still write to the copy. Therefore it is not copied
/// back, and its memory is not used again.
TEST_F(Bounced, TheCopyOfAFailedCallIsNeverReused) {
    DirectMemory direct(options());
    constexpr std::size_t kBytes = 8 * kPage;
    fill(buffer_.at(), kBytes, 1);
    const auto failed = direct.expose(buffer_.at(), kBytes, Access::write, for_peers(3, kBytes));
    ASSERT_EQ(failed.reach.method, AccessMethod::bounced);
    direct.revoke(failed);
    fill(seen(failed.reach), kBytes, 2);
    EXPECT_EQ(matching(buffer_.at(), kBytes, 1), kBytes);
    const auto next = direct.expose(buffer_.at(), kBytes, Access::read, for_peers(3, kBytes));
    EXPECT_EQ(next.reach.method, AccessMethod::bounced);
    EXPECT_NE(next.alias, failed.alias);
    direct.unexpose(next);
}

TEST_F(Bounced, ABufferIsAdoptedWhenItsCopiesHaveCostAsMuchAsAdoption) {
    DirectMemory direct(options());
    if (!direct.adoption_off().empty()) GTEST_SKIP() << direct.adoption_off();
    const AdoptionPrices prices;
    const std::uint64_t use_ns = prices.cost_of_bounce(16 * kPage, Access::read);
    const std::uint64_t price_ns =
        prices.cost_of_adoption(16, 1, 16, 0);  // 16 pages, mapped by a peer
    const std::uint64_t uses = (price_ns + use_ns - 1) / use_ns;
    for (std::uint64_t i = 1; i <= uses; ++i) {
        const auto exposure =
            direct.expose(buffer_.at(), 16 * kPage, Access::read, for_peers(3, 16 * kPage));
        EXPECT_EQ(exposure.reach.method, i < uses ? AccessMethod::bounced : AccessMethod::remapped)
            << "use " << i;
        direct.unexpose(exposure);
    }
}

}  // namespace
}  // namespace weft::link::testing
