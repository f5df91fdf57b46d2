// SPDX-License-Identifier: BSD-3-Clause
// Goal: the units of a buffer cover each element once, for all sizes. Method: tests check sums and
// bounds of small cases. Partition({7, 0, 3}, 9, 3) has 9 units in three blocks of 7, 0 and 3
// elements: three units for each block, and at most 3 elements in a unit.
#include "plan/schedule/partition.hpp"

#include <gtest/gtest.h>

namespace weft::plan {
namespace {

TEST(Partition, UniformUnitsCoverTheBufferAndDifferByAtMostOne) {
    for (std::uint64_t elements = 0; elements < 40; ++elements) {
        for (std::uint32_t units = 1; units < 12; ++units) {
            const Partition partition(elements, units);
            std::uint64_t sum = 0;
            for (std::uint32_t u = 0; u < units; ++u) {
                EXPECT_EQ(partition.begin(u), sum);
                EXPECT_GE(partition.size(u), elements / units);
                EXPECT_LE(partition.size(u), partition.unit_max());
                sum += partition.size(u);
            }
            EXPECT_EQ(sum, elements);
            EXPECT_LE(partition.unit_max(), elements / units + 1);
        }
    }
}

TEST(Partition, LargeBuffersDoNotOverflow) {
    const Partition partition(std::uint64_t{1} << 62, 1000);
    EXPECT_EQ(partition.begin(1000), std::uint64_t{1} << 62);
    EXPECT_EQ(partition.begin(500), std::uint64_t{1} << 61);
}

TEST(Partition, UnitsOfDifferentSizesHaveTheGivenSizes) {
    const Partition partition({3, 0, 5}, 3, 0);
    EXPECT_EQ(partition.elements(), 8U);
    EXPECT_EQ(partition.begin(1), 3U);
    EXPECT_EQ(partition.size(1), 0U);
    EXPECT_EQ(partition.size(0, 3), 8U);
    EXPECT_EQ(partition.unit_max(), 5U);
}

TEST(Partition, BlocksOfDifferentSizesAreDividedIntoEqualUnits) {
    const Partition partition({7, 0, 3}, 9, 3);
    constexpr std::uint64_t kSizes[] = {3, 3, 1, 0, 0, 0, 3, 0, 0};
    std::uint64_t sum = 0;
    for (std::uint32_t u = 0; u < 9; ++u) {
        EXPECT_EQ(partition.begin(u), sum);
        EXPECT_EQ(partition.size(u), kSizes[u]) << "unit " << u;
        sum += kSizes[u];
    }
    EXPECT_EQ(partition.begin(9), 10U);
    EXPECT_EQ(partition.unit_max(), 3U);
    EXPECT_EQ(partition.units_of_block(), 3U);
}

TEST(Partition, UnitsOfSeparateBlocksFollowTheirBlocksStart) {
    const Partition partition({7, 0, 3}, 9, 3);
    const std::vector<std::uint64_t> starts{100, 5, 20};
    EXPECT_EQ(partition.place(0, starts), 100U);
    EXPECT_EQ(partition.place(2, starts), 106U);
    EXPECT_EQ(partition.place(6, starts), 20U);
    EXPECT_EQ(partition.place(8, starts), 23U);
}

TEST(Partition, LargeBlocksDoNotOverflow) {
    const std::uint64_t large = std::uint64_t{1} << 40;
    const Partition partition({large, 1}, 2 * 1000, (large + 999) / 1000);
    EXPECT_EQ(partition.begin(1000), large);
    EXPECT_EQ(partition.begin(2000), large + 1);
    EXPECT_EQ(partition.size(0, 1000), large);
}

}  // namespace
}  // namespace weft::plan
