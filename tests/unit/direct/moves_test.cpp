// SPDX-License-Identifier: BSD-3-Clause
// Goal: mremap() treats adopted memory (docs/glossary.md: remapped) as private memory: it keeps the
// contents, fills new pages with zeros, and shares no page with other memory.
// Method: tests move, extend and shrink adopted buffers, and compare every byte.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/unit/direct/own_peer.hpp"

namespace weft::link::testing {
namespace {

TEST_F(Adopted, MovedMemoryKeepsItsContentsAndGrowsWithZeros) {
    DirectMemory direct(own_peer());
    for (const std::size_t start : {std::size_t{0}, kPage + 16}) {  // start of the adopted part
        const std::size_t bytes = 16 * kPage;
        std::byte* const old = map_private(bytes);
        fill(old, bytes, 4);
        adopt(direct, old + start, bytes - start);
        void* const moved = ::mremap(old, bytes, 64 * bytes, MREMAP_MAYMOVE);
        ASSERT_NE(moved, MAP_FAILED) << std::strerror(errno);
        auto* const now = static_cast<std::byte*>(moved);
        EXPECT_EQ(matching(now, bytes, 4), bytes);
        for (std::size_t i = bytes; i < 64 * bytes; ++i) ASSERT_EQ(now[i], std::byte{0});
        adopt(direct, now, 64 * bytes);
        EXPECT_EQ(matching(now, bytes, 4), bytes);
        ::munmap(moved, 64 * bytes);
    }
}

void expect_zeros(const std::byte* begin, const std::byte* end) {
    EXPECT_TRUE(std::all_of(begin, end, [](std::byte each) { return each == std::byte{0}; }));
}

TEST_F(Adopted, ShrunkMemoryGrowsWithZeros) {
    constexpr std::size_t kBytes = 16 * kPage;
    constexpr std::size_t kKept = 4 * kPage;
    DirectMemory direct(own_peer());
    for (const bool by_mremap : {true, false}) {
        for (const int flags : {0, MREMAP_MAYMOVE}) {
            std::byte* const old = map_private(kBytes);
            fill(old, kBytes, 4);
            adopt(direct, old, kBytes);
            if (by_mremap)
                ASSERT_EQ(::mremap(old, kBytes, kKept, 0), old);
            else
                ASSERT_EQ(::munmap(old + kKept, kBytes - kKept), 0);
            void* const grown = ::mremap(old, kKept, kBytes, flags);
            ASSERT_NE(grown, MAP_FAILED) << std::strerror(errno);
            auto* const now = static_cast<std::byte*>(grown);
            EXPECT_EQ(matching(now, kKept, 4), kKept);
            expect_zeros(now + kKept, now + kBytes);
            ::munmap(now, kBytes);
        }
    }
}

TEST_F(Adopted, MemoryOfSeveralMappingsShrinksInPlace) {
    DirectMemory direct(own_peer());
    const Pages pages(16);
    fill(pages.at(), pages.bytes(), 4);
    adopt(direct, pages.at() + kPage, 8 * kPage);
    constexpr std::size_t kKept = 12 * kPage;
    ASSERT_EQ(::mremap(pages.at(), pages.bytes(), kKept, 0), pages.at());
    EXPECT_EQ(matching(pages.at(), kKept, 4), kKept);
    unsigned char resident = 0;
    EXPECT_EQ(::mincore(pages.at() + kKept, kPage, &resident), -1) << "still mapped";
}

TEST_F(Adopted, AMovedAndExtendedPartSharesNoPage) {
    DirectMemory direct(own_peer());
    const Pages pages(16);
    fill(pages.at(), pages.bytes(), 4);
    adopt(direct, pages.at(), pages.bytes());
    constexpr std::size_t kPart = 4 * kPage;
    EXPECT_EQ(::mremap(pages.at(), kPart, 2 * kPart, 0), MAP_FAILED);
    EXPECT_EQ(errno, ENOMEM);
    void* const moved = ::mremap(pages.at(), kPart, 2 * kPart, MREMAP_MAYMOVE);
    ASSERT_NE(moved, MAP_FAILED) << std::strerror(errno);
    auto* const now = static_cast<std::byte*>(moved);
    EXPECT_EQ(matching(now, kPart, 4), kPart);
    expect_zeros(now + kPart, now + 2 * kPart);
    std::memset(now + kPart, 0xee, kPart);
    for (std::size_t i = kPart; i < pages.bytes(); ++i) ASSERT_EQ(pages.at()[i], pattern(i, 4));
    ::munmap(moved, 2 * kPart);
}

TEST_F(Adopted, MovesToAFixedAddressFollowTheKernelsRules) {
    DirectMemory direct(own_peer());
    const Pages pages(16);
    const Pages target(32);
    fill(pages.at(), pages.bytes(), 4);
    adopt(direct, pages.at() + kPage, pages.bytes() - kPage);
    constexpr int kFlags = MREMAP_MAYMOVE | MREMAP_FIXED;
    const std::size_t bytes = pages.bytes();
    EXPECT_EQ(::mremap(pages.at(), bytes, 2 * bytes, kFlags, pages.at() + kPage), MAP_FAILED);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(::mremap(pages.at(), bytes, 2 * bytes, kFlags, target.at() + 16), MAP_FAILED);
    EXPECT_EQ(errno, EINVAL);
    // A move that shrinks the memory unmaps the rest.
    ASSERT_EQ(::mremap(pages.at(), bytes, bytes / 2, kFlags, target.at()), target.at());
    EXPECT_EQ(matching(target.at(), bytes / 2, 4), bytes / 2);
    unsigned char resident = 0;
    EXPECT_EQ(::mincore(pages.at() + bytes - kPage, kPage, &resident), -1) << "still mapped";
}

}  // namespace
}  // namespace weft::link::testing
