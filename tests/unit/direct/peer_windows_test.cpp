// SPDX-License-Identifier: BSD-3-Clause
// Goal: a local peer's object (the shared memory of an adopted buffer) is mapped once, found again
// and replaced by its next generation. No other file is mapped.
// Method: the process makes objects, and maps them as its own peer.
#include "link/direct/peer_windows.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "base/file_descriptor.hpp"
#include "link/direct/address_query.hpp"
#include "link/direct/remapped_range.hpp"
#include "link/shared/os_handles.hpp"
#include "tests/unit/direct/own_peer.hpp"

namespace weft::link {
namespace {

constexpr std::uint64_t kBytes = 8192;

/// An object whose first word is its generation.
struct Object {
    explicit Object(std::uint32_t generation, const char* name = nullptr, int seals = F_SEAL_SHRINK,
                    std::uint64_t bytes = kBytes)
        : file(::memfd_create(name != nullptr ? name : ObjectName(generation).text,
                              MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
        EXPECT_EQ(::ftruncate(file.number(), static_cast<off_t>(bytes)), 0);
        EXPECT_EQ(::fcntl(file.number(), F_ADD_SEALS, seals), 0);
        EXPECT_EQ(::pwrite(file.number(), &generation, sizeof generation, 0), 4);
        reach.object = static_cast<std::uint32_t>(file.number());
        reach.object_bytes = bytes;
        reach.generation = generation;
        reach.method = base::AccessMethod::remapped;
    }
    base::FileDescriptor file;
    base::Reach reach;
};

/// Returns the generation in an object's first word; 0 for nullptr, an object that is not mapped.
std::uint32_t generation_at(const std::byte* start) {
    return start == nullptr ? 0 : *reinterpret_cast<const std::uint32_t*>(start);
}

/// Returns true if the process can access the page without a fault.
bool is_present(const std::byte* page) {
    const base::FileDescriptor file(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    std::uint64_t entry = 0;
    const auto at = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(page) / kPageBytes * 8);
    EXPECT_EQ(::pread(file.number(), &entry, sizeof entry, at), 8);
    return entry >> 63 != 0;
}

TEST(PeerWindows, AnObjectIsMappedOnceForEachGeneration) {
    const int before = testing::mappings_with("weft-adopted");
    {
        PeerWindows windows;
        std::byte* first = nullptr;
        int number = -1;
        {
            const Object object(7);
            number = object.file.number();
            first = windows.find(3, ::getpid(), object.reach, kBytes);
            EXPECT_EQ(generation_at(first), 7U);
            EXPECT_EQ(windows.find(3, ::getpid(), object.reach, kBytes), first);
            EXPECT_EQ(windows.counters().mapped, 1U);
        }
        const Object next(8);
        ASSERT_EQ(next.file.number(), number) << "the test needs the same descriptor";
        EXPECT_EQ(generation_at(windows.find(3, ::getpid(), next.reach, kBytes)), 8U);
        EXPECT_EQ(windows.counters().mapped, 2U);
        EXPECT_EQ(testing::mappings_with("weft-adopted"), before + 1);
    }
    EXPECT_EQ(testing::mappings_with("weft-adopted"), before);
}

/// The kernel maps the requested part of an object, and a few pages around it.
TEST(PeerWindows, PagesAreMappedWithTheBlocksThatNeedThem) {
    constexpr std::uint64_t kPages = 512;
    const Object object(7, nullptr, F_SEAL_SHRINK, kPages * kPageBytes);
    const std::vector<std::byte> page(kPageBytes);
    for (std::uint64_t i = 1; i < kPages; ++i)
        ASSERT_EQ(::pwrite(object.file.number(), page.data(), page.size(),
                           static_cast<off_t>(i * kPageBytes)),
                  static_cast<ssize_t>(kPageBytes));
    PeerWindows windows;
    const auto find = [&](std::uint64_t first, std::uint64_t count) {
        return windows.find(3, ::getpid(), object.reach.at(first * kPageBytes), count * kPageBytes);
    };
    const std::byte* const start = find(256, 8);
    ASSERT_NE(start, nullptr);
    const auto present = [&](std::uint64_t first, std::uint64_t count) {
        std::uint64_t found = 0;
        for (std::uint64_t i = first; i < first + count; ++i)
            found += is_present(start + i * kPageBytes) ? 1 : 0;
        return found;
    };
    EXPECT_EQ(present(256, 8), 8U);
    EXPECT_EQ(present(0, 128) + present(384, 128), 0U);
    EXPECT_EQ(find(400, 8), start);
    EXPECT_EQ(present(256, 152), 152U) << "pages between the blocks are mapped, too";
    EXPECT_EQ(present(0, 128), 0U);
    EXPECT_EQ(find(0, 1), start);
    EXPECT_EQ(present(0, 408), 408U);
    EXPECT_EQ(find(0, kPages), start);
    EXPECT_EQ(present(0, kPages), kPages);
    EXPECT_EQ(windows.counters().mapped, 1U);
}

TEST(PeerWindows, AnObjectThatDiffersFromItsDescriptionIsNotMapped) {
    PeerWindows windows;
    Rank peer = 0;  // a new one for each call, as a peer's refusal is kept
    const auto maps = [&](base::Reach reach) {
        return windows.find(peer++, ::getpid(), reach, kBytes) != nullptr;
    };
    const Object object(7);
    EXPECT_TRUE(maps(object.reach));
    base::Reach wrong = object.reach;
    wrong.generation = 8;
    EXPECT_FALSE(maps(wrong));
    wrong = object.reach;
    for (const std::uint64_t bytes : {std::uint64_t{0}, kBytes + 1, 2 * kBytes}) {
        wrong.object_bytes = bytes;
        EXPECT_FALSE(maps(wrong)) << bytes << " bytes";
    }
    wrong = object.reach;
    wrong.object = 9999;
    EXPECT_FALSE(maps(wrong));
    EXPECT_FALSE(maps(Object(7, "weft-segment").reach));
    EXPECT_FALSE(maps(Object(7, nullptr, F_SEAL_GROW).reach))
        << "its owner could shrink the object";
    EXPECT_EQ(windows.counters().refused, 7U) << "each call above but the first";
    EXPECT_NE(windows.find(0, /*pid=*/0, object.reach, kBytes), nullptr)
        << "a mapped object must be found without its process";
}

TEST(PeerWindows, ARefusalIsKeptUntilTheNextGeneration) {
    PeerWindows windows;
    const Object object(7);
    base::Reach wrong = object.reach;
    wrong.generation = 6;
    EXPECT_EQ(windows.find(0, ::getpid(), wrong, kBytes), nullptr);
    EXPECT_EQ(windows.find(0, ::getpid(), wrong, kBytes), nullptr);
    EXPECT_EQ(windows.counters().refused, 1U);
    EXPECT_EQ(generation_at(windows.find(0, ::getpid(), object.reach, kBytes)), 7U);
}

TEST(PeerWindows, TheLeastRecentlyUsedObjectIsEvicted) {
    const int before = testing::mappings_with("weft-adopted");
    PeerWindows windows;
    const Object object(7);
    const auto find = [&](Rank peer) {
        return windows.find(peer, ::getpid(), object.reach, kBytes);
    };
    std::vector<std::byte*> starts;
    for (Rank peer = 0; peer < PeerWindows::kWindowsMax; ++peer) starts.push_back(find(peer));
    EXPECT_EQ(find(0), starts[0]);
    // The object of a new peer evicts peer 1's object when copies have cost the price of a mapping.
    int copied = 0;
    while (find(PeerWindows::kWindowsMax) == nullptr) ASSERT_LT(++copied, 30);
    EXPECT_GT(copied, 3);
    EXPECT_EQ(testing::mappings_with("weft-adopted"), before + PeerWindows::kWindowsMax);
    EXPECT_EQ(find(0), starts[0]);
    for (Rank peer = 2; peer < PeerWindows::kWindowsMax; ++peer)
        EXPECT_EQ(find(peer), starts[static_cast<std::size_t>(peer)]);
    EXPECT_EQ(windows.counters().mapped, 1U + PeerWindows::kWindowsMax);
    while (find(1) == nullptr) ASSERT_LT(++copied, 60);
    EXPECT_EQ(generation_at(find(1)), 7U);
    EXPECT_EQ(windows.counters().mapped, 2U + PeerWindows::kWindowsMax);
    EXPECT_EQ(windows.counters().passed_over, static_cast<std::uint64_t>(copied));
}

TEST(PeerWindows, ObjectsUsedInTurnDoNotEvictEachOther) {
    PeerWindows windows;
    const Object object(7);
    constexpr Rank kPeers = PeerWindows::kWindowsMax + 44;
    constexpr int kRounds = 20;
    int found = 0;
    for (int round = 0; round < kRounds; ++round)
        for (Rank peer = 0; peer < kPeers; ++peer)
            found += windows.find(peer, ::getpid(), object.reach, kBytes) != nullptr ? 1 : 0;
    // If each new object evicted the least recently used object, every use would map an object.
    EXPECT_LT(windows.counters().mapped, PeerWindows::kWindowsMax + 250U);
    EXPECT_GT(found, kRounds * kPeers * 7 / 10);
}

TEST(PeerWindows, AnObjectDescribedAsLargerIsNotReached) {
    PeerWindows windows;
    const Object object(7);
    EXPECT_NE(windows.find(0, ::getpid(), object.reach, kBytes), nullptr);
    base::Reach larger = object.reach;
    larger.object_bytes = 2 * kBytes;
    EXPECT_EQ(windows.find(0, ::getpid(), larger, kBytes), nullptr);
}

}  // namespace
}  // namespace weft::link
