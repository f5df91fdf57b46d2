// SPDX-License-Identifier: BSD-3-Clause
// Goal: copies are right for all sizes and page distances, whether they are direct or by detour.
// is_slow_distance() detects the distances at which a copy is slow.
// Method: tests compare the copied bytes and the bytes before and after them.
#include "base/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace weft::base {
namespace {

constexpr std::size_t kPage = 4096;
/// Includes kRegisterCopyMax (2048), up to which no copy takes a detour, and the size of a page.
constexpr std::array<std::size_t, 11> kSizes{0,    1,    8,    2047, 2048, 2049,
                                             2113, 4095, 4096, 4113, 65537};
constexpr std::array<std::size_t, 9> kDistances{0, 1, 8, 16, 31, 63, 64, 2048, 4095};
constexpr std::byte kUntouched{0xEE};  ///< contents of the bytes that a copy must not change

std::vector<std::byte> numbered(std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + i / 251);
    return data;
}

TEST(Copy, ExactlyTheTargetBytesAreWrittenAtEveryDistance) {
    const std::vector<std::byte> from = numbered(kSizes.back() + kPage);
    for (const std::size_t bytes : kSizes)
        for (const std::size_t distance : kDistances) {
            std::vector<std::byte> to(bytes + 3 * kPage, kUntouched);
            // The target's offset in its page is `distance` bytes larger than the source's.
            const std::size_t at = kPage + distance -
                                   page_distance(reinterpret_cast<std::uintptr_t>(to.data()),
                                                 reinterpret_cast<std::uintptr_t>(from.data())) %
                                       kPage;
            copy_bytes(to.data() + at, from.data(), bytes);
            const auto begin = to.begin() + static_cast<std::ptrdiff_t>(at);
            const auto end = begin + static_cast<std::ptrdiff_t>(bytes);
            EXPECT_TRUE(std::equal(begin, end, from.begin()))
                << bytes << " bytes at distance " << distance;
            EXPECT_EQ(std::count(to.begin(), begin, kUntouched), begin - to.begin());
            EXPECT_EQ(std::count(end, to.end(), kUntouched), to.end() - end);
        }
}

TEST(Copy, RangesAreMovedWithAndWithoutOverlap) {
    constexpr std::size_t kBytes = 10'000;
    // The first four overlap at slow distances. 12'304 is three pages and 16 bytes: slow, without
    // overlap.
    for (const std::size_t distance : {1U, 16U, 31U, 2049U, 9'999U, 10'000U, 12'304U}) {
        std::vector<std::byte> right = numbered(kBytes + distance);
        const std::vector<std::byte> before = right;
        move_bytes(right.data() + distance, right.data(), kBytes);
        EXPECT_TRUE(std::equal(before.begin(), before.begin() + kBytes,
                               right.begin() + static_cast<std::ptrdiff_t>(distance)))
            << "distance " << distance;
        std::vector<std::byte> left = before;
        move_bytes(left.data(), left.data() + distance, kBytes);
        EXPECT_TRUE(std::equal(left.begin(), left.begin() + kBytes,
                               before.begin() + static_cast<std::ptrdiff_t>(distance)))
            << "distance " << distance;
    }
}

TEST(Copy, DistancesBelowACacheLineExceptZeroAreSlow) {
    EXPECT_FALSE(is_slow_distance(kPage, 0));
    EXPECT_TRUE(is_slow_distance(5 * kPage + 1, kPage));
    EXPECT_TRUE(is_slow_distance(kPage + 16, 9 * kPage)) << "the target may have the lower address";
    EXPECT_TRUE(is_slow_distance(kPage + 10, 2 * kPage - 10)) << "20, modulo the page size";
    EXPECT_TRUE(is_slow_distance(63, 0));
    EXPECT_FALSE(is_slow_distance(64, 0));
    EXPECT_FALSE(is_slow_distance(0, 16));
}

}  // namespace
}  // namespace weft::base
