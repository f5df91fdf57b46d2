// SPDX-License-Identifier: BSD-3-Clause
// Bug: the completion queue had a fixed size, so more than 256 peers could overrun it. Method: each
// of 300 peers has the maximum number of immediates in flight to a rank that does not poll. The
// strict provider reports any overrun of the queue; without the fix, it reports one.
#include <gtest/gtest.h>

#include "tests/system/regress_network/strict_ports.hpp"

namespace weft::test {
namespace {

constexpr Rank kRanks = 301;

/// Rank 0 and its 300 peers.
class Peers {
  public:
    Peers() {
        for (Rank rank = 1; rank < kRanks; ++rank) ports_[rank].set_peer(0, ports_[0].address());
    }
    [[nodiscard]] std::string violations() const { return ports_.fabric.violations(); }

    /// Posts puts with immediates until the rank may have no more in flight. Returns their number.
    int fill(Rank rank) {
        const base::PutPart source{ports_.memory(rank), 8};
        base::Put put;
        put.peer = 0;
        put.parts = {&source, 1};
        put.bytes = 8;
        put.target = 8;
        put.kind = link::PutKind::with_immediate;
        put.pending = &pending_[static_cast<std::size_t>(rank)];
        int posted = 0;
        while (posted < 10'000 && ports_[rank].try_put(put) == base::Post::posted) ++posted;
        return posted;
    }
    void deliver_all() {
        for (int i = 0; i < 1'000'000 && !ports_.fabric.in_flight.empty(); ++i)
            ports_.fabric.progress();
    }

  private:
    static link::Profile profile() {
        link::Profile profile;
        profile.small_keys = true;
        return profile;
    }

    std::vector<std::uint32_t> pending_ = std::vector<std::uint32_t>(kRanks);
    // Small puts are injected, so only arrivals have entries.
    StrictPorts ports_{kRanks, profile()};
};

TEST(OverrunQueue, QueueHasRoomForTheArrivalsOfAllPeers) {
    Peers peers;
    int arrivals = 0;
    for (Rank rank = 1; rank < kRanks; ++rank) {
        arrivals += peers.fill(rank);
        peers.deliver_all();
    }
    EXPECT_GT(arrivals, 1024) << "too few for a test: a queue for few peers is enough";
    EXPECT_EQ(peers.violations(), "");
}

}  // namespace
}  // namespace weft::test
