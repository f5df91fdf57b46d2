// SPDX-License-Identifier: BSD-3-Clause
// Bug: the transfers to a peer were counted in 32 bits and compared for equality. If 2^32 transfers
// followed a quiet, the next quiet assumed that they were delivered. Method: over a network whose
// counter jumps by 2^32, a quiet must send the peer a request.
#include <gtest/gtest.h>

#include <set>

#include "run/onesided/onesided.hpp"
#include "tests/hostile/fuzz/hostile_wire.hpp"

namespace weft::run {

/// Counts writes and requests. The other rank never answers.
class CountingWire : public fuzz::HostileWire {
  public:
    std::uint64_t transfers = 0;  ///< number of transfers that are counted as written
    std::uint64_t per_write = 1;  ///< transfers that each write counts as
    int requests = 0;             ///< number sent

    base::Post try_put(const base::Put& put, std::uint64_t&) noexcept {
        if (put.cell != base::Put::kNoCell)
            ++requests;
        else
            transfers += per_write;
        return base::Post::posted;
    }
    CountingWire& counts() noexcept { return *this; }
    const base::RemoteFacts& remote() const noexcept { return facts_; }
    std::uint64_t written_to(Rank) noexcept { return transfers; }
    std::uint32_t close_batch(Rank) noexcept { return 1; }

  private:
    const base::RemoteFacts facts_{.whole_words = true};
};
static_assert(Network<CountingWire>);

/// Waits for nothing: gives up unless the awaited event has happened.
struct NoWait {
    base::Failure timeout;
    template <class Ended, class Waits>
    bool await(Ended ended, Waits, Rank) {
        return ended();
    }
    [[nodiscard]] static std::set<Rank> deaths() { return {}; }
    [[nodiscard]] const base::Failure& failure() const { return timeout; }
};

namespace {

class WrappedCounts : public testing::Test {
  protected:
    WrappedCounts() : calls_(wire_, no_wait_, {.offset = 0, .ranks = 2}, 0) {}
    bool put() { return calls_.put(1, 4096, data_.data(), data_.size(), Return::at_once); }

    CountingWire wire_;
    NoWait no_wait_;
    OneSided<CountingWire, NoWait> calls_;
    std::vector<std::byte> data_ = std::vector<std::byte>(100);
};

TEST_F(WrappedCounts, ACountThatWrapsToZeroIsNotMistakenForNoTransfers) {
    wire_.per_write = std::uint64_t{1} << 32;
    ASSERT_TRUE(put());
    EXPECT_FALSE(calls_.quiet()) << "no transfer is known to be delivered";
    EXPECT_EQ(wire_.requests, 1) << "the peer must get a request";
}

TEST_F(WrappedCounts, APutSendsARequestBeforeTheCountExceeds32Bits) {
    wire_.per_write = (std::uint64_t{1} << 31) + 1;
    ASSERT_TRUE(put());
    EXPECT_EQ(wire_.requests, 0);
    EXPECT_FALSE(put()) << "a request has 32 bits for the number of earlier transfers";
    EXPECT_EQ(wire_.requests, 1);
}

}  // namespace
}  // namespace weft::run
