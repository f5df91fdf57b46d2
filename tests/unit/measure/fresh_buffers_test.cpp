// SPDX-License-Identifier: BSD-3-Clause
// Goal: no call gets a buffer of an earlier call, and the memory in use is bounded.
// Method: addresses of the buffers of several supplies are compared. mincore() shows whether old
// buffers still have memory.
#include "tools/measure/fresh_buffers.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <set>

namespace weft::lab {
namespace {

TEST(FreshBuffers, NoCallGetsABufferOfAnotherCall) {
    constexpr std::size_t kBytes = 10'000;
    FreshBuffers buffers(kBytes);
    std::set<std::uintptr_t> pages;
    for (const std::uint64_t calls : {3U, 1U, 7U}) {
        buffers.supply(calls);
        for (std::uint64_t call = 0; call < calls; ++call) {
            buffers.next();
            const auto begin = reinterpret_cast<std::uintptr_t>(buffers.data());
            EXPECT_EQ(begin % 4096, 64U) << "a buffer begins 64 bytes after the start of a page";
            for (auto page = begin / 4096; page <= (begin + kBytes - 1) / 4096; ++page)
                EXPECT_TRUE(pages.insert(page).second);
        }
    }
    EXPECT_EQ(pages.size(), 11U * 3U) << "11 calls, 3 pages each";
}

TEST(FreshBuffers, BuffersOfAnEarlierSupplyHaveNoMemory) {
    FreshBuffers buffers(4096);
    buffers.supply(1);
    buffers.next();
    std::byte* const old = buffers.data() - 64;  // the start of the page
    buffers.supply(1);
    unsigned char resident = 1;
    // The addresses stay reserved, so no other mapping uses them.
    ASSERT_EQ(::mincore(old, 4096, &resident), 0) << std::strerror(errno);
    EXPECT_EQ(resident & 1, 0);
}

TEST(FreshBuffers, AllBuffersAreFilledAndSuppliesAreBounded) {
    FreshBuffers buffers(100);
    buffers.supply(5);
    int filled = 0;
    buffers.for_each([&](std::byte* start) {
        std::memset(start, 7, 100);
        ++filled;
    });
    EXPECT_EQ(filled, 5);
    buffers.next();
    buffers.next();
    EXPECT_EQ(buffers.data()[99], std::byte{7});
    EXPECT_EQ(FreshBuffers(1 << 20).calls_max(), 63U)
        << "a supply has at most 64 MiB; a buffer of 1 MiB takes another page";
    EXPECT_EQ(FreshBuffers(std::size_t{1} << 30).calls_max(), 1U) << "larger than the limit";
}

}  // namespace
}  // namespace weft::lab
