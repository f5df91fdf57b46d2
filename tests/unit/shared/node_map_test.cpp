// SPDX-License-Identifier: BSD-3-Clause
// Goal: processes that have exchanged only cards map each other's segments at equal addresses, or
// report the reason and use offsets.
// Method: forked ranks follow raw pointers through each other's memory, with occupied addresses,
// forced modes and killed owners.
#include "link/shared/node_map.hpp"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <set>

#include "base/clock.hpp"
#include "tests/unit/shared/forked_ranks.hpp"

namespace weft::link {
namespace {

using testing::expect_ranks;
using testing::ForkedRank;

constexpr std::uint64_t kBytes = std::uint64_t{8} << 20;
constexpr std::size_t kAt = 5 << 20;  // offset near the middle of a segment

/// Returns true if equal addresses are possible. They are not under the thread sanitizer, which
/// reserves the necessary ranges.
bool equal_addresses_possible() {
    const auto segment = Segment::create({.bytes = kBytes});
    return segment.ok() && segment.value().card().free_bases != 0;
}

struct Bead {
    Rank owner;
    Bead* next;  ///< raw pointer into the next rank's segment
};

/// Each rank stores a bead that points to the next rank's bead. Then each follows the whole ring.
void follow_ring(ForkedRank& self, const NodeMap& map) {
    const auto bead_of = [&](Rank rank) { return reinterpret_cast<Bead*>(map.base(rank) + kAt); };
    const Rank next = (self.rank() + 1) % self.size();
    *bead_of(self.rank()) = {self.rank(), bead_of(next)};
    self.fence();
    const Bead* bead = bead_of(self.rank());
    for (int hop = 0; hop < self.size(); ++hop) {
        const Rank expected = (self.rank() + hop) % self.size();
        self.require(bead->owner == expected, "a raw pointer leads to the wrong segment");
        bead = bead->next;
    }
    self.require(bead == bead_of(self.rank()), "the ring of raw pointers does not close");
    self.fence();
}

/// Each rank reads the other ranks' words at one offset, through its own mappings.
void read_by_offset(ForkedRank& self, const NodeMap& map) {
    const auto word_of = [&](Rank rank) {
        return reinterpret_cast<std::atomic<std::uint64_t>*>(map.base(rank) + kAt + 64);
    };
    word_of(self.rank())->store(static_cast<std::uint64_t>(1000 + self.rank()));
    self.fence();
    for (Rank rank = 0; rank < self.size(); ++rank)
        self.require(word_of(rank)->load() == static_cast<std::uint64_t>(1000 + rank),
                     "another rank's word is wrong");
    self.fence();
}

std::vector<Rank> all_ranks(int size) {
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < size; ++rank) ranks.push_back(rank);
    return ranks;
}

TEST(NodeMap, PointersOfOneRankAreValidInAllRanks) {
    if (!equal_addresses_possible()) GTEST_SKIP() << "no common range of addresses is free here";
    for (int size = 1; size <= 5; ++size) {
        expect_ranks(size, [](ForkedRank& self) {
            const auto node = self.map_node({.bytes = kBytes});
            self.require(node.map.problems().empty(), node.map.problems());
            self.require(node.group.ranks == all_ranks(self.size()), "not all are members");
            self.require(node.map.mode() == AddressMode::equal, node.map.problems());
            follow_ring(self, node.map);
            read_by_offset(self, node.map);
        });
    }
}

TEST(NodeMap, OneRankWithoutSharedAddressesMakesAllUseOffsets) {
    for (int size = 2; size <= 4; ++size) {
        expect_ranks(size, [](ForkedRank& self) {
            const auto node = self.map_node({.bytes = kBytes}, {.force_offset = self.rank() == 1});
            self.require(node.group.ranks == all_ranks(self.size()), "not all are members");
            self.require(node.map.mode() == AddressMode::offset, "mode is not offset");
            self.require(node.map.problems().find("addresses") != std::string::npos,
                         "no reason: " + node.map.problems());
            read_by_offset(self, node.map);
        });
    }
}

TEST(NodeMap, ABaseInUseInOneProcessIsUsedByNoRank) {
    if (!equal_addresses_possible()) GTEST_SKIP() << "no common range of addresses is free here";
    expect_ranks(3, [](ForkedRank& self) {
        AddressRange taken;
        if (self.rank() == 2) taken = reserve_addresses(4096, common_base(0));
        const auto node = self.map_node({.bytes = kBytes});
        self.require(node.map.mode() == AddressMode::equal, node.map.problems());
        self.require(node.map.verdict().base != common_base(0), "base 0 was taken");
        follow_ring(self, node.map);
    });
}

TEST(NodeMap, ABaseTakenDuringTheExchangeMakesAllUseOffsets) {
    if (!equal_addresses_possible()) GTEST_SKIP() << "no common range of addresses is free here";
    expect_ranks(3, [](ForkedRank& self) {
        std::vector<AddressRange> taken;
        const auto node = self.map_node({.bytes = kBytes}, {}, [&](auto&) {
            for (int k = 0; self.rank() == 0 && k < kCommonBases; ++k)
                taken.push_back(reserve_addresses(4096, common_base(k)));
        });
        self.require(node.map.mode() == AddressMode::offset, "mode is not offset");
        read_by_offset(self, node.map);
    });
}

TEST(NodeMap, VirtualNodesNeverMapEachOther) {
    expect_ranks(5, [](ForkedRank& self) {
        const auto node =
            self.map_node({.bytes = kBytes, .node = static_cast<std::uint32_t>(self.rank() % 2)});
        std::vector<Rank> expected;
        for (Rank rank = 0; rank < self.size(); ++rank) {
            const bool same_node = rank % 2 == self.rank() % 2;
            if (same_node) expected.push_back(rank);
            self.require((node.map.base(rank) != nullptr) == same_node,
                         "base() does not follow the nodes");
        }
        self.require(node.group.ranks == expected, "the group is not the node");
        self.require(node.map.base(-1) == nullptr && node.map.base(99) == nullptr,
                     "ranks that do not exist have a base");
        self.fence();
    });
}

TEST(NodeMap, ARankThatOneRankCannotMapIsInNoGroupWithOthers) {
    expect_ranks(3, [](ForkedRank& self) {
        const auto node = self.map_node({.bytes = kBytes}, {}, [&](auto& cards) {
            if (self.rank() == 0) cards[2].nonce ^= 1;
        });
        const std::vector<Rank> expected =
            self.rank() == 2 ? std::vector<Rank>{2} : std::vector<Rank>{0, 1};
        self.require(node.group.ranks == expected, "the groups are not {0,1} and {2}");
        for (Rank rank = 0; rank < 3; ++rank) {
            const bool member = (rank == 2) == (self.rank() == 2);
            self.require((node.map.base(rank) != nullptr) == member,
                         "the mapped segments are not those of the group");
        }
        self.fence();
    });
}

/// Returns the names of files in /dev/shm and /tmp that may be segments of weft.
std::set<std::string> segment_files() {
    std::set<std::string> names;
    for (const char* const folder : {"/dev/shm", "/tmp"}) {
        DIR* const open = ::opendir(folder);
        if (open == nullptr) continue;
        while (const dirent* const entry = ::readdir(open))
            if (std::strstr(entry->d_name, "weft-segment") != nullptr) names.insert(entry->d_name);
        ::closedir(open);
    }
    return names;
}

bool is_mapped_here(std::uint64_t inode) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find("memfd:weft-segment") != std::string::npos &&
            line.find(" " + std::to_string(inode) + " ") != std::string::npos)
            return true;
    return false;
}

TEST(NodeMap, MemoryOfAKilledOwnerStaysReadableAndNoFileRemains) {
    const test::SharedObject<testing::Board> shared;
    testing::Board& board = *shared;
    const pid_t owner = testing::start_rank(board, 0, 2, [](ForkedRank& self) {
        const Segment segment = self.create({.bytes = kBytes});
        const auto cards = self.exchange(segment.card());
        const NodeMap map = self.open(segment, cards);
        std::strcpy(reinterpret_cast<char*>(map.base(0) + kAt), "still here");
        self.fence();
        self.wait_until([] { return false; });
    });
    const pid_t reader = testing::start_rank(board, 1, 2, [](ForkedRank& self) {
        const Segment segment = self.create({.bytes = kBytes});
        const auto cards = self.exchange(segment.card());
        {
            const NodeMap map = self.open(segment, cards);
            self.require(map.base(0) != nullptr, map.problems());
            self.fence();
            self.board().flags[0].store(true);  // the owner may be killed
            self.wait_until([&] { return self.board().flags[1].load(); });
            self.require(is_mapped_here(cards[0].inode), "the dead owner's segment is not mapped");
            self.require(
                std::strcmp(reinterpret_cast<const char*>(map.base(0) + kAt), "still here") == 0,
                "the dead owner's memory has changed");
            self.require(segment_files().empty(), "a file of a segment is left");
        }
        self.require(!is_mapped_here(cards[0].inode), "closing the map keeps segments mapped");
        const NodeMap again = self.open(segment, cards);
        self.require(again.base(0) == nullptr, "a dead rank was mapped");
        self.require(again.problems().find("cannot stat /proc/") != std::string::npos,
                     "no reason: " + again.problems());
    });
    const std::uint64_t deadline =
        base::monotonic_ns() + std::uint64_t{testing::kDeadlineSeconds} * 1'000'000'000;
    while (!board.flags[0] && !board.failed && base::monotonic_ns() < deadline) ::sched_yield();
    ASSERT_EQ(::kill(owner, SIGKILL), 0);
    EXPECT_NE(testing::end_of_rank(board, 0, owner).find("signal 9"), std::string::npos);
    board.flags[1].store(true);
    EXPECT_EQ(testing::end_of_rank(board, 1, reader), "");
    EXPECT_TRUE(segment_files().empty());
}

TEST(NodeMap, SeveralMapsInOneProcessShareByOffset) {
    const Segment a = Segment::create({.bytes = kBytes}).value();
    const Segment b = Segment::create({.bytes = kBytes}).value();
    const SegmentCard cards[] = {a.card(), b.card()};
    NodeMap first = NodeMap::open(a, cards, 0).value();
    NodeMap second = NodeMap::open(b, cards, 1).value();
    const std::vector<MapVerdict> verdicts = {first.verdict(), second.verdict()};
    first.settle(clique(verdicts, 0));
    second.settle(clique(verdicts, 1));
    EXPECT_EQ(first.mode(), AddressMode::offset);
    EXPECT_EQ(second.mode(), AddressMode::offset);
    ASSERT_NE(first.base(1), second.base(1));
    first.base(1)[kAt] = std::byte{42};
    EXPECT_EQ(second.base(1)[kAt], std::byte{42});
}

TEST(NodeMap, SegmentsAreAlignedToLargePagesInBothModes) {
    const Segment segment = Segment::create({.bytes = 12345, .node = 0}).value();
    for (const bool offset : {false, true}) {
        const NodeMap map =
            NodeMap::open(segment, std::span(&segment.card(), 1), 0, {.force_offset = offset})
                .value();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(map.base(0)) % (2 << 20), 0U);
    }
}

}  // namespace
}  // namespace weft::link
