// SPDX-License-Identifier: BSD-3-Clause
// Goal: blocks never overlap for any sequence of calls, freed memory is merged again, and equal
// calls give equal offsets.
// Method: random sequences of calls are compared with a map of the blocks in use.
#include "link/heap/allocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/random.hpp"

namespace weft::link {
namespace {

constexpr base::Extent kRange{4096, 1 << 20};

/// Allocates at the lowest possible offset, and returns it. Returns kNoOffset if no range fits.
std::uint64_t allocate(HeapAllocator& heap, HeapRequest request) {
    const std::uint64_t offset = heap.find(request, 0);
    if (offset != kNoOffset) heap.take(offset, request);
    return offset;
}

/// A random sequence of allocations and frees. Each allocation is compared with the live blocks.
class Sequence {
  public:
    explicit Sequence(std::uint64_t seed) : random_(seed), heap_(kRange) {}

    void step() {
        if (alive_.empty() || random_.chance(3, 5))  // more allocations, so the heap becomes full
            allocate();
        else
            free_one();
    }

    void free_all() {
        while (!alive_.empty()) free_one();
    }

    [[nodiscard]] const HeapAllocator& heap() const { return heap_; }
    [[nodiscard]] const std::vector<std::uint64_t>& offsets() const { return offsets_; }
    [[nodiscard]] std::size_t failures() const { return failures_; }

  private:
    void allocate() {
        const HeapRequest request{random_.below(random_.chance(1, 10) ? 100000 : 3000),
                                  std::uint64_t{1} << random_.below(14)};
        const HeapStatistics before = heap_.statistics();
        const std::uint64_t offset = weft::link::allocate(heap_, request);
        if (offset == kNoOffset) {
            ++failures_;
            EXPECT_EQ(heap_.statistics(), before);
            // A free range of this size would hold the block for any start of the range.
            EXPECT_LT(before.bytes_free_largest, request.bytes + request.alignment + kHeapGranule);
            offsets_.push_back(0);
            return;
        }
        offsets_.push_back(offset);
        EXPECT_EQ(offset % request.alignment, 0U);
        EXPECT_EQ(offset % kHeapGranule, 0U);
        EXPECT_GE(offset, kRange.offset);
        EXPECT_LE(offset + request.bytes, kRange.offset + kRange.bytes);
        const std::uint64_t end = offset + std::max<std::uint64_t>(request.bytes, 1);
        const auto next = alive_.lower_bound(offset);
        if (next != alive_.end()) {
            EXPECT_LE(end, next->first);
        }
        if (next != alive_.begin()) {
            EXPECT_LE(std::prev(next)->second, offset);
        }
        alive_.emplace(offset, end);
    }

    void free_one() {
        auto victim = alive_.begin();
        std::advance(victim, static_cast<std::ptrdiff_t>(random_.below(alive_.size())));
        EXPECT_TRUE(heap_.free(victim->first).ok());
        alive_.erase(victim);
    }

    base::Random random_;
    HeapAllocator heap_;
    std::map<std::uint64_t, std::uint64_t> alive_;  // start and end of each live block
    std::vector<std::uint64_t> offsets_;            // results of all allocations; 0: failed
    std::size_t failures_ = 0;                      // number of failed allocations
};

TEST(HeapAllocator, BlocksNeverOverlapAndFreeRangesMerge) {
    std::size_t failures = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Sequence sequence(seed);
        for (int i = 0; i < 1500; ++i) sequence.step();
        sequence.free_all();
        const HeapStatistics end = sequence.heap().statistics();
        EXPECT_EQ(end.bytes_used, 0U);
        EXPECT_EQ(end.blocks, 0U);
        EXPECT_EQ(end.free_ranges, 1U);
        EXPECT_EQ(end.bytes_free_largest, kRange.bytes);
        failures += sequence.failures();
        if (HasFailure()) break;
    }
    EXPECT_GT(failures, 0U) << "the sequences never filled the heap, so they test too little";
}

TEST(HeapAllocator, EqualCallsGiveEqualOffsets) {
    Sequence one(5);
    Sequence other(5);
    for (int i = 0; i < 2000; ++i) {
        one.step();
        other.step();
    }
    EXPECT_EQ(one.offsets(), other.offsets());
    EXPECT_EQ(one.heap().statistics(), other.heap().statistics());
}

TEST(HeapAllocator, TheLowestRangeThatFitsIsUsed) {
    HeapAllocator heap({0, 1024});
    EXPECT_EQ(allocate(heap, {100}), 0U);
    EXPECT_EQ(allocate(heap, {100}), 128U) << "sizes are rounded to 64 bytes";
    EXPECT_EQ(allocate(heap, {100}), 256U);
    ASSERT_TRUE(heap.free(0).ok());
    EXPECT_EQ(allocate(heap, {200}), 384U) << "the 128 bytes at 0 are too short";
    EXPECT_EQ(allocate(heap, {64}), 0U);
    EXPECT_EQ(allocate(heap, {1}), 64U);
}

TEST(HeapAllocator, AdjacentFreeRangesMergeInEveryOrder) {
    const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (const auto& order : orders) {
        HeapAllocator heap({0, 192});
        std::uint64_t blocks[3];
        for (std::uint64_t& block : blocks) block = allocate(heap, {64});
        for (const int which : order) ASSERT_TRUE(heap.free(blocks[which]).ok());
        EXPECT_EQ(heap.statistics().free_ranges, 1U);
        EXPECT_EQ(allocate(heap, {192}), 0U);
    }
}

TEST(HeapAllocator, TooLargeRequestsAreRefusedWithoutEffect) {
    HeapAllocator heap({0, 4096});
    EXPECT_EQ(allocate(heap, {1024}), 0U);
    const HeapStatistics before = heap.statistics();
    for (const std::uint64_t bytes :
         {std::uint64_t{3073}, std::uint64_t{1} << 40, ~std::uint64_t{0}})
        EXPECT_EQ(heap.find({bytes}, 0), kNoOffset);
    EXPECT_EQ(heap.find({64, std::uint64_t{1} << 63}, 0), kNoOffset) << "a huge alignment";
    EXPECT_EQ(heap.statistics(), before);
    EXPECT_EQ(allocate(heap, {3072}), 1024U);
}

TEST(HeapAllocator, InvalidFreesAreRefused) {
    HeapAllocator heap({0, 4096});
    const std::uint64_t block = allocate(heap, {256});
    EXPECT_EQ(heap.free(block + 64).failure().status, Status::argument) << "not a block's start";
    ASSERT_TRUE(heap.free(block).ok());
    EXPECT_EQ(heap.free(block).failure().status, Status::argument) << "freed twice";
}

TEST(HeapAllocator, OffsetsAreAlignedAndTheRangeIsRoundedToGranules) {
    HeapAllocator heap({100, 10000});  // bytes 100 to 10,099
    EXPECT_EQ(heap.statistics().bytes_total, 10048U - 128U);
    EXPECT_EQ(allocate(heap, {0}), 128U);
    EXPECT_EQ(allocate(heap, {0}), 192U);
    EXPECT_EQ(allocate(heap, {10, 4096}), 4096U);
    EXPECT_EQ(allocate(heap, {10, 1}), 256U);
    EXPECT_EQ(heap.statistics().bytes_used, 256U);
    // No whole granule of 64 bytes is in the range.
    EXPECT_EQ(HeapAllocator({10, 60}).statistics().bytes_total, 0U);
    EXPECT_EQ(HeapAllocator({10, 60}).find({0}, 0), kNoOffset);
}

/// With find(), members of a team agree on an offset that is free on all of them. Then each member
/// allocates at this offset with take().
TEST(HeapAllocator, FindReturnsTheLowestFreeOffsetFromAStart) {
    HeapAllocator heap(kRange);
    std::vector<std::uint64_t> blocks;  // 1000 bytes are rounded to 1024
    for (int i = 0; i < 8; ++i) blocks.push_back(allocate(heap, {1000, 64}));
    ASSERT_TRUE(heap.free(blocks[2]).ok());
    ASSERT_TRUE(heap.free(blocks[5]).ok());
    const HeapStatistics before = heap.statistics();
    EXPECT_EQ(heap.find({1000, 64}, 0), blocks[2]);
    EXPECT_EQ(heap.find({500, 64}, blocks[2] + 64), blocks[2] + 64);
    EXPECT_EQ(heap.find({1000, 64}, blocks[2] + 64), blocks[5]);
    const std::uint64_t after = heap.find({1000, 64}, blocks[5] + 64);
    EXPECT_EQ(after, blocks[7] + 1024);
    EXPECT_EQ(heap.find({1000, 4096}, after) % 4096, 0U);
    EXPECT_EQ(heap.find({2 << 20, 64}, 0), kNoOffset);
    EXPECT_EQ(heap.find({64, 64}, kRange.offset + kRange.bytes), kNoOffset);
    EXPECT_EQ(heap.find({64, 64}, kNoOffset), kNoOffset);
    EXPECT_EQ(heap.statistics(), before);

    // Leaves 128 free bytes before the new block and 768 after it.
    heap.take(blocks[5] + 128, {100, 64});
    EXPECT_EQ(heap.find({128, 64}, blocks[5]), blocks[5]);
    EXPECT_EQ(heap.find({1000, 64}, blocks[5]), after);
    ASSERT_TRUE(heap.free(blocks[5] + 128).ok());
    EXPECT_EQ(heap.statistics().free_ranges, before.free_ranges);
    EXPECT_EQ(heap.find({1000, 64}, blocks[2] + 64), blocks[5]);
}

}  // namespace
}  // namespace weft::link
