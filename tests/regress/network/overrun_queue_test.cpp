// SPDX-License-Identifier: BSD-3-Clause
// Bug: the completion queue was made for a fixed number of arrivals, so more than 256 peers could
// overrun it. Method: 300 peers that each have as many immediates on their way to one rank as they
// may, while that rank does not poll; the provider notes a queue that runs over. On the code before
// it does.
#include <gtest/gtest.h>

#include "link/fabric/port.hpp"
#include "tests/strict/strict_fabric.hpp"

namespace weft::test {
namespace {

constexpr Rank kRanks = 301;
constexpr std::size_t kMemoryBytes = 4096;

class Peers {
  public:
    Peers() {
        for (Rank rank = 0; rank < kRanks; ++rank) ports_.push_back(opened(rank));
        for (Rank rank = 1; rank < kRanks; ++rank) port(rank).set_peer(0, port(0).address());
    }
    link::Port& port(Rank rank) { return *ports_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] std::string violations() const { return strict_.violations(); }

    /// Puts with immediates until the rank may have no more under way; how many.
    int fill(Rank rank) {
        link::FabricPut put;
        put.peer = 0;
        put.data = memory_[static_cast<std::size_t>(rank)].data();
        put.bytes = 8;
        put.target = 8;
        put.kind = link::PutKind::with_immediate;
        put.pending = &pending_[static_cast<std::size_t>(rank)];
        int posted = 0;
        while (posted < 10'000 && port(rank).try_put(put) == base::Post::posted) ++posted;
        return posted;
    }
    void deliver_all() {
        for (int i = 0; i < 1'000'000 && !strict_.under_way.empty(); ++i) strict_.progress();
    }

  private:
    std::unique_ptr<link::Port> opened(Rank rank) {
        link::FabricOptions options;
        options.rank = rank;
        options.size = kRanks;
        link::Info info = strict_.offer();
        const auto grant = link::accept_offer(*info);
        link::Profile profile;
        profile.provider = "strict";
        profile.small_keys = true;
        auto& memory = memory_.emplace_back(kMemoryBytes);
        auto port = link::Port::open({memory.data(), memory.size()}, options,
                                     {std::move(info), *grant, profile, {}});
        if (!port) throw std::runtime_error(port.failure().text);
        return std::move(port).value();
    }

    // Whole messages are injected, so that only arrivals count.
    StrictFabric strict_{Demands{}};
    std::vector<std::vector<std::byte>> memory_;
    std::vector<std::uint32_t> pending_ = std::vector<std::uint32_t>(kRanks);
    std::vector<std::unique_ptr<link::Port>> ports_;  // after what they read
};

TEST(OverrunQueue, IsNoneHoweverManyPeersThereAre) {
    Peers peers;
    int arrivals = 0;
    for (Rank rank = 1; rank < kRanks; ++rank) {
        arrivals += peers.fill(rank);
        peers.deliver_all();
    }
    EXPECT_GT(arrivals, 1024) << "more than a queue of few peers has";
    EXPECT_EQ(peers.violations(), "");
}

}  // namespace
}  // namespace weft::test
