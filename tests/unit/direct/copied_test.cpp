// SPDX-License-Identifier: BSD-3-Clause
// Goal: every buffer can be exposed. The kernel copies blocks that peers cannot map, and its
// refusals are reported.
// Method: one process exposes memory, and another one reads and writes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/copy.hpp"
#include "tests/unit/direct/own_peer.hpp"
#include "tests/unit/shared/forked_ranks.hpp"

namespace weft::link::testing {
namespace {

/// Memory that the two ranks share.
struct SharedBlocks {
    pid_t pids[2];         ///< process of each rank
    base::Reach reach[2];  ///< exposed block of each rank
};

class Copied : public ::testing::Test {
  protected:
    DirectOptions options(ForkedRank& rank) {
        shared_->pids[rank.rank()] = ::getpid();
        rank.fence();
        return {.processes = {shared_->pids[0], shared_->pids[1]}};
    }

    test::SharedObject<SharedBlocks> shared_;
};

std::vector<std::byte> numbered(std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    fill(data.data(), bytes, 1);
    return data;
}

TEST_F(Copied, TheKernelReadsAndWritesAnyExposedBlock) {
    expect_ranks(2, [&](ForkedRank& rank) {
        DirectMemory direct(options(rank));
        constexpr std::size_t kBytes = 3'000'001;
        auto buffer = numbered(kBytes);
        if (rank.rank() == 0) {
            const auto exposure = direct.expose(buffer.data(), kBytes, Access::write);
            rank.require(
                exposure.reach.method == AccessMethod::copied && exposure.alias == buffer.data(),
                "the first use of a buffer is not copied by the kernel");
            shared_->reach[0] = exposure.reach.at(1);
            rank.fence();
            rank.fence();
            direct.unexpose(exposure);
            auto expected = numbered(kBytes);
            std::memset(expected.data() + 1, 0x55, kBytes - 1);
            rank.require(buffer == expected, "the peer's bytes are missing");
        } else {
            rank.fence();
            const base::Reach reach = shared_->reach[0];
            rank.require(direct.map(0, reach) == nullptr,
                         "map() returned a pointer to memory of another process");
            std::vector<std::byte> found(kBytes - 1);
            rank.require(direct.read(0, reach.address, found.data(), found.size()),
                         "read() failed");
            rank.require(std::equal(found.begin(), found.end(), buffer.begin() + 1),
                         "read() returned wrong bytes");
            std::memset(found.data(), 0x55, found.size());
            rank.require(direct.write(0, reach.address, found.data(), found.size()),
                         "write() failed");
            rank.fence();
        }
    });
}

/// Copies between different offsets in a page. If the target's offset is 1 to 31 bytes larger than
/// the source's, the kernel is slow, and DirectMemory copies in two steps, piece by piece.
TEST_F(Copied, TheKernelReadsAndWritesAtAnyDistance) {
    constexpr std::size_t kBytes = 100'001;  // several pieces; the last one is partial
    expect_ranks(2, [&](ForkedRank& rank) {
        DirectMemory direct(options(rank));
        auto buffer = numbered(kBytes);
        if (rank.rank() == 0) {
            shared_->reach[0] = direct.expose(buffer.data(), kBytes, Access::write).reach;
            rank.fence();
            rank.fence();
            auto expected = numbered(kBytes);
            std::memset(expected.data(), 0x55, kBytes);
            rank.require(buffer == expected, "the peer's bytes are missing");
            return;
        }
        rank.fence();
        const std::uint64_t there = shared_->reach[0].address;
        std::vector<std::byte> memory(kBytes + 2 * kPage);
        const auto start = reinterpret_cast<std::uintptr_t>(memory.data());
        for (const std::size_t distance : {0U, 16U, 31U, 48U, 4080U}) {
            std::ranges::fill(memory, std::byte{0xEE});
            std::byte* const to =
                memory.data() + 1 + base::page_distance(there + distance, start + 1);
            rank.require(direct.read(0, there, to, kBytes), "read() failed");
            rank.require(std::equal(to, to + kBytes, buffer.begin()),
                         "read() returned wrong bytes");
            rank.require(to[-1] == std::byte{0xEE} && to[kBytes] == std::byte{0xEE},
                         "wrote beyond the block");
        }
        // In a write, the target is the peer's memory.
        for (const std::size_t distance : {0U, 16U}) {
            std::byte* const from = memory.data() + base::page_distance(there - distance, start);
            std::memset(from, distance == 0 ? 0x33 : 0x55, kBytes);
            rank.require(direct.write(0, there, from, kBytes), "write() failed");
        }
        rank.fence();
    });
}

TEST_F(Copied, MemoryThatTheKernelCannotReachIsRefused) {
    expect_ranks(2, [&](ForkedRank& rank) {
        DirectMemory direct(options(rank));
        const Pages pages(2);
        ::munmap(pages.at() + kPage, kPage);
        shared_->reach[rank.rank()] = direct.expose(pages.at(), pages.bytes(), Access::write).reach;
        rank.fence();
        const Rank peer = 1 - rank.rank();
        std::vector<std::byte> here(2 * kPage);
        const std::uint64_t there = shared_->reach[peer].address;
        rank.require(direct.read(peer, there, here.data(), kPage), "could not read a mapped page");
        rank.require(!direct.read(peer, there, here.data(), 2 * kPage), "read an unmapped page");
        rank.require(!direct.write(peer, there, here.data(), 2 * kPage),
                     "wrote to an unmapped page");
        rank.fence();
    });
    DirectMemory without_process({.processes = {0}});
    std::byte byte{};
    EXPECT_FALSE(without_process.read(0, reinterpret_cast<std::uintptr_t>(&byte), &byte, 1));
}

TEST_F(Copied, TheProbeComparesTheBytesItReads) {
    expect_ranks(2, [&](ForkedRank& rank) {
        const auto processes = options(rank).processes;
        std::uint64_t secret = 1000 + static_cast<std::uint64_t>(rank.rank());
        shared_->reach[rank.rank()].address = reinterpret_cast<std::uintptr_t>(&secret);
        rank.fence();
        const Rank peer = 1 - rank.rank();
        const auto* there = reinterpret_cast<const void*>(shared_->reach[peer].address);
        const std::uint64_t theirs = 1000 + static_cast<std::uint64_t>(peer);
        const pid_t pid = processes[static_cast<std::size_t>(peer)];
        rank.require(DirectMemory::can_copy(pid, there, theirs), "refused the expected number");
        rank.require(!DirectMemory::can_copy(pid, there, theirs + 1), "accepted another number");
        rank.require(!DirectMemory::can_copy(pid, nullptr, theirs), "accepted an unmapped address");
        rank.fence();
    });
}

}  // namespace
}  // namespace weft::link::testing
