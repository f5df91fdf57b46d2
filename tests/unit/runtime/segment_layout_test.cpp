// SPDX-License-Identifier: BSD-3-Clause
// Goal: with the default settings, the put targets of jobs of any size fit into the segment. A bank
// has a cell for every message that a rank may get, and the size of all banks is bounded.
// Method: tests compute layouts for different numbers of ranks, and bind calls of several sizes to
// see which bulk banks they use. A fixed number of banks, such as 128, would not fit 16,384 ranks.
#include <gtest/gtest.h>

#include "collectives/registry.hpp"
#include "run/bind/bind.hpp"
#include "run/job/layout.hpp"

namespace weft::run {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kCellsEndMax = std::uint64_t{64} << 30;  ///< limit at start-up

TEST(SegmentLayout, DefaultSettingsFitManyRanks) {
    for (const Rank ranks : {2304, 16'384, 65'536}) {
        const SegmentLayout layout(ranks, {});
        EXPECT_GE(layout.shape.cells, 4U * static_cast<std::uint32_t>(ranks) + 16)
            << ranks << " ranks";
        EXPECT_TRUE(std::has_single_bit(layout.shape.banks)) << ranks << " ranks";
        EXPECT_GE(layout.shape.banks, SegmentLayout::kBanksMin) << ranks << " ranks";
        EXPECT_LT(layout.heap, kCellsEndMax) << ranks << " ranks";
    }
    EXPECT_LE(SegmentLayout(2304, {}).region_bytes, 64 * kMebibyte);
    EXPECT_LE(SegmentLayout(16'384, {}).region_bytes, 90 * kMebibyte);
    EXPECT_LE(SegmentLayout(65'536, {}).region_bytes, 280 * kMebibyte);
}

TEST(SegmentLayout, FewRanksGetAllRequestedBanks) {
    for (const Rank ranks : {1, 2, 4, 100}) {
        EXPECT_EQ(SegmentLayout(ranks, {}).shape.banks, 512U) << ranks << " ranks";
        base::Settings few;
        few.banks = 8;
        EXPECT_EQ(SegmentLayout(ranks, few).shape.banks, 8U) << ranks << " ranks";
    }
}

/// Returns the bulk banks that a call of four ranks uses at rank 0. Returns no banks if its payload
/// fits into cells.
base::BankClass banks_of(const base::RegionShape& shape, std::string_view collective,
                         std::uint64_t bytes) {
    const bool rooted = collective == "broadcast";
    const auto spec = collectives::parse_spec(rooted ? "binomial" : "ring");
    collectives::GenerateRequest request{.rank = 0, .size = 4, .elements = bytes};
    if (rooted) request.root = 0;
    const auto program = collectives::generate(collective, *spec, request);
    const auto bound = bind(*program, {.elements = bytes, .element_bytes = 1, .shape = shape});
    return bound->bulk ? shape.bulk_class(bound->bulk_class) : base::BankClass{};
}

TEST(SegmentLayout, ShortPayloadsGetManyBanksAndSynchronizingCallsFew) {
    const base::RegionShape shape = SegmentLayout(4, {}).shape;
    EXPECT_EQ(banks_of(shape, "broadcast", 48).banks, 0U);
    std::uint32_t banks_before = shape.banks;  // banks for the next shorter payload
    for (const std::uint64_t bytes : {1U << 10, 4U << 10, 16U << 10, 64U << 10, 256U << 10}) {
        const base::BankClass found = banks_of(shape, "broadcast", bytes);
        EXPECT_GE(found.bytes, bytes);
        EXPECT_LE(found.banks, banks_before) << bytes << " bytes";
        // At most 256 small banks of 17 KiB, or four large banks of 2 MiB.
        const bool is_small = found.banks > SegmentLayout::kBulkBanks;
        EXPECT_LE(found.total_bytes(), (is_small ? 5 : 8) * kMebibyte) << bytes << " bytes";
        banks_before = found.banks;
    }
    EXPECT_EQ(banks_before, SegmentLayout::kBulkBanks);
    EXPECT_GT(banks_of(shape, "broadcast", 1024).banks, banks_of(shape, "broadcast", 4096).banks);
    for (const std::uint64_t bytes : {1U << 10, 16U << 10})
        EXPECT_EQ(banks_of(shape, "allreduce", bytes).banks,
                  banks_of(shape, "broadcast", 64 << 10).banks)
            << bytes << " bytes";
}

TEST(SegmentLayout, LocalStreamsGetManyBanksAndSynchronizingCallsSmallOnes) {
    base::RegionShape shape = SegmentLayout(4, {}).shape;
    SegmentLayout::keep_near_banks(shape);
    EXPECT_EQ(banks_of(shape, "broadcast", 512).banks, 512U);
    EXPECT_EQ(banks_of(shape, "broadcast", 4096).banks, 256U);
    for (const std::uint64_t bytes : {512U, 4096U})
        EXPECT_EQ(banks_of(shape, "allreduce", bytes).bytes, SegmentLayout::kNearSmallBytes);
    for (const char* collective : {"broadcast", "allreduce"})
        EXPECT_EQ(banks_of(shape, collective, 512 << 10).banks, SegmentLayout::kBulkBanks);
}

/// If a broadcast publishes its payload, its bank has room for the published payload and the slots.
TEST(SegmentLayout, PublishedPayloadsUseBanksThatFitPayloadAndSlots) {
    base::RegionShape shape = SegmentLayout(4, {}).shape;
    SegmentLayout::keep_near_banks(shape);
    const auto program = collectives::generate("broadcast", *collectives::parse_spec("flat"),
                                               {.rank = 0, .size = 4, .root = 0, .elements = 4096});
    for (const std::uint64_t bytes : {512U, 1024U, 2048U, 4096U}) {
        BindOptions options{.elements = bytes, .element_bytes = 1, .shape = shape};
        ASSERT_TRUE(may_publish(*program, options, true)) << bytes << " bytes";
        options.publishes = true;
        const auto bound = bind(*program, options);
        EXPECT_LE(2 * bytes, shape.bulk_class(bound->bulk_class).bytes) << bytes << " bytes";
        EXPECT_LT(bound->bulk_class, base::kSmallClasses) << bytes << " bytes";
    }
    // Large banks have room for both, but there are few large banks, so a long call puts.
    const BindOptions long_call{.elements = 12 << 10, .element_bytes = 1, .shape = shape};
    EXPECT_FALSE(may_publish(*program, long_call, true));
}

}  // namespace
}  // namespace weft::run
