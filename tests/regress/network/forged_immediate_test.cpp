// SPDX-License-Identifier: BSD-3-Clause
// Bug: libfabric's TCP providers take a write to no place, which needs no key and still has an
// immediate. Any process of the host could send one to a rank, which raised a flag or failed the
// job. Method: immediates that no rank has sent appear in a port's queue, between those of a peer.
// On the code before, poll() returns them.
#include <gtest/gtest.h>

#include <array>

#include "base/random.hpp"
#include "link/fabric/port.hpp"
#include "tests/strict/strict_fabric.hpp"
#include "tests/strict/strict_objects.hpp"

namespace weft::test {
namespace {

constexpr std::size_t kMemoryBytes = 4096;
constexpr std::uint64_t kPayload = std::uint64_t{1} << 63;

class ForgedImmediates : public testing::Test {
  protected:
    ForgedImmediates() {
        for (Rank rank = 0; rank < 2; ++rank) ports_.push_back(opened(rank));
        for (Rank rank = 0; rank < 2; ++rank)
            port(rank).set_peer(1 - rank, port(1 - rank).address());
    }
    link::Port& port(Rank rank) { return *ports_[static_cast<std::size_t>(rank)]; }

    void put(std::uint64_t immediate, std::size_t bytes) {
        link::FabricPut put;
        put.peer = 0;
        put.data = memory_[1].data();
        put.bytes = bytes;
        put.immediate = immediate;
        put.pending = &pending_;
        while (port(1).try_put(put) == base::Post::again) strict_.progress();
        while (!strict_.under_way.empty()) strict_.progress();
    }
    void forge(std::uint64_t immediate) {
        add_entry(*strict_.endpoints[0]->queue,
                  {.flags = FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, .data = immediate});
    }
    std::vector<std::uint64_t> poll() {
        std::array<std::uint64_t, 64> immediates{};
        const std::size_t count = port(0).poll(immediates);
        return {immediates.begin(), immediates.begin() + static_cast<std::ptrdiff_t>(count)};
    }

  private:
    std::unique_ptr<link::Port> opened(Rank rank) {
        link::FabricOptions options;
        options.rank = rank;
        options.size = 2;
        link::Info info = strict_.offer();
        const auto grant = link::accept_offer(*info);
        link::Profile profile;
        profile.provider = "strict";
        profile.writes_empty = true;
        auto& memory = memory_.emplace_back(kMemoryBytes);
        auto port = link::Port::open({memory.data(), memory.size()}, options,
                                     {std::move(info), *grant, profile, {}});
        if (!port) throw std::runtime_error(port.failure().text);
        return std::move(port).value();
    }

    StrictFabric strict_{Demands{}};
    std::vector<std::vector<std::byte>> memory_;
    std::uint32_t pending_ = 0;
    std::vector<std::unique_ptr<link::Port>> ports_;  // after what they read
};

TEST_F(ForgedImmediates, AreDroppedBetweenThoseOfPeers) {
    const std::vector<std::uint64_t> sent{0, 1, 0xffff'ffff, kPayload | 1,
                                          kPayload | ((std::uint64_t{1} << 43) - 1)};
    base::Random random(7);
    for (const std::uint64_t immediate : sent) {
        put(immediate, immediate % 3 * 100);
        forge(immediate);
        forge(random() >> 1);
        forge(random() | kPayload);
    }
    EXPECT_EQ(poll(), sent);
    EXPECT_EQ(port(0).failure(), nullptr);
}

}  // namespace
}  // namespace weft::test
