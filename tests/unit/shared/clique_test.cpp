// SPDX-License-Identifier: BSD-3-Clause
// Goal: from equal verdicts (lists of the ranks that each rank has mapped) all ranks compute equal
// groups, whose members have all mapped each other.
// Method: tests use handmade cases, and random graphs whose groups are checked pair by pair.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"
#include "link/shared/node_map.hpp"

namespace weft::link {
namespace {

MapVerdict verdict_of(Rank rank, std::vector<Rank> mapped, std::uint64_t base = 0x2000,
                      AddressMode mode = AddressMode::equal) {
    return {.rank = rank, .mode = mode, .base = base, .stride = 64, .mapped = std::move(mapped)};
}

TEST(Clique, RanksThatMappedEachOtherFormOneGroup) {
    const std::vector<MapVerdict> verdicts = {verdict_of(7, {2, 4, 7}), verdict_of(2, {2, 4, 7}),
                                              verdict_of(4, {2, 4, 7})};
    for (const Rank me : {2, 4, 7}) {
        const NodeGroup group = clique(verdicts, me);
        EXPECT_EQ(group.ranks, (std::vector<Rank>{2, 4, 7}));
        EXPECT_EQ(group.mode, AddressMode::equal);
    }
}

TEST(Clique, AOneSidedMappingIsIgnored) {
    const std::vector<MapVerdict> verdicts = {verdict_of(0, {0, 1, 2}), verdict_of(1, {0, 1, 2}),
                                              verdict_of(2, {1, 2})};
    EXPECT_EQ(clique(verdicts, 0).ranks, (std::vector<Rank>{0, 1}));
    EXPECT_EQ(clique(verdicts, 1).ranks, (std::vector<Rank>{0, 1}));
    EXPECT_EQ(clique(verdicts, 2).ranks, std::vector<Rank>{2});
}

TEST(Clique, ARankWithoutVerdictIsInNoGroup) {
    const std::vector<MapVerdict> verdicts = {verdict_of(0, {0, 1, 2}), verdict_of(2, {0, 1, 2})};
    EXPECT_EQ(clique(verdicts, 0).ranks, (std::vector<Rank>{0, 2}));
}

TEST(Clique, DifferentBasesOrAnOffsetModeMakeOnlyTheirGroupUseOffsets) {
    std::vector<MapVerdict> verdicts = {verdict_of(0, {0, 1}), verdict_of(1, {0, 1}, 0x3000),
                                        verdict_of(2, {2, 3}), verdict_of(3, {2, 3})};
    EXPECT_EQ(clique(verdicts, 0).mode, AddressMode::offset);
    EXPECT_EQ(clique(verdicts, 1).mode, AddressMode::offset);
    EXPECT_EQ(clique(verdicts, 2).mode, AddressMode::equal);
    verdicts[3] = verdict_of(3, {2, 3}, 0x2000, AddressMode::offset);
    EXPECT_EQ(clique(verdicts, 2).mode, AddressMode::offset);
}

TEST(Clique, AllRanksDivideRandomGraphsEqually) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        base::Random random(seed);
        const auto size = static_cast<Rank>(1 + random.below(9));
        std::vector<MapVerdict> verdicts;
        for (Rank rank = 0; rank < size; ++rank) {
            MapVerdict verdict = verdict_of(rank, {});
            for (Rank other = 0; other < size; ++other)
                if (other == rank || random.chance(4, 5)) verdict.mapped.push_back(other);
            verdicts.push_back(verdict);
        }
        const auto has_mapped = [&](Rank a, Rank b) {
            const auto& mapped = verdicts[static_cast<std::size_t>(a)].mapped;
            return std::find(mapped.begin(), mapped.end(), b) != mapped.end();
        };
        for (Rank me = 0; me < size; ++me) {
            const NodeGroup group = clique(verdicts, me);
            ASSERT_NE(std::find(group.ranks.begin(), group.ranks.end(), me), group.ranks.end());
            for (const Rank member : group.ranks) {
                ASSERT_EQ(clique(verdicts, member).ranks, group.ranks) << "seed " << seed;
                for (const Rank other : group.ranks)
                    ASSERT_TRUE(has_mapped(member, other)) << "seed " << seed;
            }
            std::vector<MapVerdict> shuffled = verdicts;
            std::shuffle(shuffled.begin(), shuffled.end(), random);
            ASSERT_EQ(clique(shuffled, me).ranks, group.ranks) << "seed " << seed;
        }
    }
}

TEST(MapVerdict, AVerdictIsReadBackAndInvalidVerdictsAreRefused) {
    const MapVerdict verdict = verdict_of(4, {1, 4, 9}, 0x2000'0000'0000);
    const std::vector<std::byte> bytes = verdict.to_bytes();
    EXPECT_EQ(MapVerdict::from_bytes(bytes).value(), verdict);
    EXPECT_FALSE(MapVerdict::from_bytes(std::span(bytes).first(bytes.size() - 1)).ok());
    EXPECT_FALSE(MapVerdict::from_bytes(std::span(bytes).first(8)).ok());
    EXPECT_FALSE(MapVerdict::from_bytes(verdict_of(4, {1, 9}).to_bytes()).ok()) << "itself";
    EXPECT_FALSE(MapVerdict::from_bytes(verdict_of(4, {4, 1}).to_bytes()).ok()) << "order";
    EXPECT_FALSE(MapVerdict::from_bytes(verdict_of(4, {-1, 4}).to_bytes()).ok()) << "negative";
}

}  // namespace
}  // namespace weft::link
