// SPDX-License-Identifier: BSD-3-Clause
// Bug: libfabric's TCP providers accept a write of 0 bytes without a key, which may have an
// immediate. Each process of the host could send such a write to a rank, where the immediate set a
// flag or failed the job. Method: add immediates that no rank has sent to a port's queue, between
// immediates of a peer. Without the fix, poll() returns them.
#include <gtest/gtest.h>

#include <array>

#include "base/random.hpp"
#include "tests/system/regress_network/strict_ports.hpp"
#include "tests/virtual/strict/strict_objects.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t kPayload = std::uint64_t{1} << 63;

class ForgedImmediates : public testing::Test {
  protected:
    ForgedImmediates() {
        for (Rank rank = 0; rank < 2; ++rank)
            ports_[rank].set_peer(1 - rank, ports_[1 - rank].address());
    }

    void put(std::uint64_t immediate, std::size_t bytes) {
        const base::PutPart source{ports_.memory(1), bytes};
        base::Put put;
        put.peer = 0;
        put.kind = base::PutKind::with_immediate;
        put.parts = {&source, 1};
        put.bytes = bytes;
        put.target = 0;
        put.immediate = immediate;
        put.pending = &pending_;
        while (ports_[1].try_put(put) == base::Post::again) ports_.fabric.progress();
        while (!ports_.fabric.in_flight.empty()) ports_.fabric.progress();
    }
    /// Adds an immediate that no rank has sent to the queue of rank 0.
    void forge(std::uint64_t immediate) {
        add_entry(*ports_.fabric.endpoints[0]->queue,
                  {.flags = FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, .data = immediate});
    }
    std::vector<std::uint64_t> poll() {
        std::array<std::uint64_t, 64> immediates{};
        const std::size_t count = ports_[0].poll(immediates);
        return {immediates.begin(), immediates.begin() + static_cast<std::ptrdiff_t>(count)};
    }

    [[nodiscard]] const base::Failure* failure() { return ports_[0].failure(); }

  private:
    static link::Profile profile() {
        link::Profile profile;
        profile.writes_empty = true;
        return profile;
    }

    std::uint32_t pending_ = 0;
    StrictPorts ports_{2, profile()};
};

TEST_F(ForgedImmediates, ForgedImmediatesAreDropped) {
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
    EXPECT_EQ(failure(), nullptr);
}

}  // namespace
}  // namespace weft::test
