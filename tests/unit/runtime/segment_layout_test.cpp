// SPDX-License-Identifier: BSD-3-Clause
// Goal: put targets of jobs of any size fit, with the settings as they are: a bank has a cell for
// every message that a rank may get, and what all banks take stays bounded.
// Method: the layout alone, which is all that decides; 128 banks for any number of ranks would
// refuse 16,384.
#include <gtest/gtest.h>

#include "run/runtime/layout.hpp"

namespace weft::run {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kCellsEndMax = std::uint64_t{64} << 30;  ///< that start-up accepts

TEST(SegmentLayout, TakesManyRanksWithUsualSettings) {
    for (const Rank ranks : {2304, 16'384, 65'536}) {
        const SegmentLayout layout(ranks, {});
        EXPECT_GE(layout.shape.cells, 4U * static_cast<std::uint32_t>(ranks) + 16) << ranks;
        EXPECT_TRUE(std::has_single_bit(layout.shape.banks)) << ranks;
        EXPECT_GE(layout.shape.banks, SegmentLayout::kBanksMin) << ranks;
        EXPECT_LT(layout.heap, kCellsEndMax) << ranks;
    }
    EXPECT_LE(SegmentLayout(2304, {}).region_bytes, 64 * kMebibyte);
    EXPECT_LE(SegmentLayout(16'384, {}).region_bytes, 90 * kMebibyte);
    EXPECT_LE(SegmentLayout(65'536, {}).region_bytes, 280 * kMebibyte);
}

TEST(SegmentLayout, GivesFewRanksAllBanksThatAreAskedFor) {
    for (const Rank ranks : {1, 2, 4, 100}) {
        EXPECT_EQ(SegmentLayout(ranks, {}).shape.banks, 512U) << ranks;
        base::Settings few;
        few.banks = 8;
        EXPECT_EQ(SegmentLayout(ranks, few).shape.banks, 8U) << ranks;
    }
}

}  // namespace
}  // namespace weft::run
