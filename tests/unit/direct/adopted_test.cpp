// SPDX-License-Identifier: BSD-3-Clause
// Goal: the owner and local peers see equal bytes of an adopted (remapped) buffer at every offset
// within a page and in every part of the buffer, and no other bytes change. A remapped range is
// released when its memory is freed. The number and size of ranges are limited.
// Method: the process is its own peer, so that a test can check the owner's and the peer's view.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "base/file_descriptor.hpp"
#include "base/random.hpp"
#include "tests/unit/direct/own_peer.hpp"

namespace weft::link::testing {
namespace {

TEST_F(Adopted, EdgesAreRightAtEveryOffsetWithinAPage) {
    DirectMemory direct(own_peer());
    const std::size_t bytes = 6 * kPage + 1234;
    for (std::size_t offset = 0; offset < kPage; ++offset) {
        const Pages pages(9);
        fill(pages.at(), pages.bytes(), 1);
        std::byte* const data = pages.at() + offset;
        const auto exposure = direct.expose(data, bytes, Access::write);
        ASSERT_EQ(exposure.reach.method, AccessMethod::remapped);
        std::byte* const seen = direct.map(0, exposure.reach);
        ASSERT_NE(seen, nullptr);
        ASSERT_EQ(std::memcmp(seen, data, bytes), 0) << "offset " << offset;
        ASSERT_EQ(std::memcmp(exposure.alias, data, bytes), 0) << "offset " << offset;
        seen[0] = std::byte{0xa1};  // a write of a peer
        exposure.alias[bytes - 1] = std::byte{0xa2};
        std::memset(seen + 3 * kPage, 0x77, kPage);
        direct.unexpose(exposure);
        ASSERT_EQ(data[0], std::byte{0xa1}) << "offset " << offset;
        ASSERT_EQ(data[bytes - 1], std::byte{0xa2}) << "offset " << offset;
        ASSERT_EQ(data[3 * kPage + 5], std::byte{0x77}) << "offset " << offset;
        data[0] = pattern(offset, 1);
        data[bytes - 1] = pattern(offset + bytes - 1, 1);
        for (std::size_t i = 3 * kPage; i < 4 * kPage; ++i) data[i] = pattern(offset + i, 1);
        ASSERT_EQ(matching(pages.at(), pages.bytes(), 1), pages.bytes()) << "offset " << offset;
    }
}

TEST_F(Adopted, WritesNextToAnExposedBufferAreKept) {
    DirectMemory direct(own_peer());
    const Pages pages(9);
    fill(pages.at(), pages.bytes(), 1);
    std::byte* const data = pages.at() + 100;
    const std::size_t bytes = 7 * kPage;
    const auto exposure = direct.expose(data, bytes, Access::write);
    // Other variables of the program in the same pages, written during the call.
    data[-1] = std::byte{0xb1};
    data[bytes] = std::byte{0xb2};
    std::memset(direct.map(0, exposure.reach), 0, bytes);
    direct.unexpose(exposure);
    EXPECT_EQ(data[-1], std::byte{0xb1});
    EXPECT_EQ(data[bytes], std::byte{0xb2});
    EXPECT_EQ(data[bytes - 1], std::byte{0});
    // unexpose() does not overwrite a buffer that peers only read.
    const auto read_only = direct.expose(data, bytes, Access::read);
    data[0] = std::byte{0xb3};
    direct.unexpose(read_only);
    EXPECT_EQ(data[0], std::byte{0xb3});
}

TEST_F(Adopted, EveryPartOfARangeIsExposedThroughTheRange) {
    DirectMemory direct(own_peer());
    const Pages pages(66);
    std::byte* const data = pages.at() + 17;
    const std::size_t bytes = 65 * kPage + 3;
    fill(pages.at(), pages.bytes(), 5);
    adopt(direct, data, bytes);
    base::Random random(41);
    for (int trial = 0; trial < 2000; ++trial) {
        const std::size_t part = 5 * kPage + random.below(bytes - 5 * kPage);
        const std::size_t start = random.below(bytes - part + 1);
        const auto exposure = direct.expose(data + start, part, Access::write);
        ASSERT_EQ(exposure.reach.method, AccessMethod::remapped);
        std::byte* const seen = direct.map(0, exposure.reach);
        ASSERT_EQ(std::memcmp(seen, data + start, part), 0) << "trial " << trial;
        const std::size_t at = random.below(part);
        ASSERT_EQ(direct.map(0, exposure.reach.at(at)), seen + at);
        std::byte found{};
        ASSERT_TRUE(direct.read(0, exposure.reach.at(at).address, &found, 1));
        ASSERT_EQ(found, data[start + at]) << "a copy by the kernel has wrong bytes";
        seen[at] = static_cast<std::byte>(trial);
        direct.unexpose(exposure);
        ASSERT_EQ(data[start + at], static_cast<std::byte>(trial)) << "trial " << trial;
    }
    EXPECT_EQ(direct.adoption_counters().adoptions, 1U);
}

TEST_F(Adopted, ALargerBufferReplacesTheRangesWithinIt) {
    DirectMemory direct(own_peer());
    const Pages pages(64);
    fill(pages.at(), pages.bytes(), 3);
    adopt(direct, pages.at() + 8 * kPage, 8 * kPage);
    adopt(direct, pages.at() + 40 * kPage, 8 * kPage);
    adopt(direct, pages.at() + 7 * kPage, 50 * kPage);
    EXPECT_EQ(direct.adoption_counters().adoptions, 3U);
    EXPECT_EQ(mappings_with("weft-adopted"), 2) << "the pages and the window";
    EXPECT_EQ(matching(pages.at(), pages.bytes(), 3), pages.bytes());
}

TEST_F(Adopted, ABufferThatPartlyOverlapsARangeIsCopied) {
    DirectMemory direct(own_peer());
    const Pages pages(64);
    fill(pages.at(), pages.bytes(), 3);
    adopt(direct, pages.at() + 8 * kPage, 8 * kPage);
    const auto exposure = direct.expose(pages.at() + 12 * kPage, 32 * kPage, Access::read);
    EXPECT_EQ(exposure.reach.method, AccessMethod::copied);
    EXPECT_EQ(refusals(direct, Refusal::overlap), 1U);
    direct.unexpose(exposure);
    EXPECT_TRUE(is_shared(pages.at() + 8 * kPage)) << "the first range must stay";
    EXPECT_FALSE(is_shared(pages.at() + 20 * kPage));
    EXPECT_EQ(matching(pages.at(), pages.bytes(), 3), pages.bytes());
}

TEST_F(Adopted, ARangeInUseIsNotReplaced) {
    DirectMemory direct(own_peer());
    const Pages pages(64);
    const auto exposure = direct.expose(pages.at(), 16 * kPage, Access::read);
    const auto larger = direct.expose(pages.at(), 40 * kPage, Access::read);
    EXPECT_EQ(larger.reach.method, AccessMethod::copied);
    EXPECT_EQ(refusals(direct, Refusal::overlap), 1U);
    direct.unexpose(larger);
    direct.unexpose(exposure);
    adopt(direct, pages.at(), 40 * kPage);
}

TEST_F(Adopted, ABufferIsAdoptedWhenItsCopiesHaveCostAsMuchAsAdoption) {
    DirectMemory direct(own_peer(DirectMode::automatic));
    if (!direct.adoption_off().empty()) GTEST_SKIP() << direct.adoption_off();
    const Pages pages(257);
    const AdoptionPrices prices;
    // 256 small pages, which one peer maps; one copy of the buffer.
    const std::uint64_t price_ns = prices.cost_of_adoption(256, 1, 256, 0);
    const std::uint64_t use_ns = prices.cost_of_copies({1, 256 * kPage});
    const std::uint64_t copied_uses = (price_ns + use_ns - 1) / use_ns - 1;
    for (std::uint64_t i = 0; i <= copied_uses; ++i) {
        const auto exposure = direct.expose(pages.at(), 256 * kPage, Access::read);
        EXPECT_EQ(exposure.reach.method,
                  i < copied_uses ? AccessMethod::copied : AccessMethod::remapped)
            << "use " << i;
        direct.unexpose(exposure);
    }
    // Buffers that are used once, of 999 different sizes, are not adopted.
    for (std::size_t i = 1; i < 1000; ++i)
        direct.unexpose(direct.expose(pages.at(), 200 * kPage + i, Access::read));
    EXPECT_EQ(direct.adoption_counters().adoptions, 1U);
}

TEST_F(Adopted, BuffersThatManyPeersCopyAreAdoptedSooner) {
    // Each of seven peers copies a slice, as in an allreduce of 64 KiB by eight ranks.
    DirectOptions options = own_peer(DirectMode::automatic);
    options.processes.assign(8, options.processes.front());
    DirectMemory direct(options);
    if (!direct.adoption_off().empty()) GTEST_SKIP() << direct.adoption_off();
    const Pages pages(16);
    const base::Copies copies{7, pages.bytes() / 8 * 7};
    // With one peer that copies the whole buffer, the eighth use would adopt.
    for (int use = 1; use <= 5; ++use) {
        const auto exposure = direct.expose(pages.at(), pages.bytes(), Access::read, copies);
        EXPECT_EQ(exposure.reach.method, use < 5 ? AccessMethod::copied : AccessMethod::remapped)
            << "use " << use;
        direct.unexpose(exposure);
    }
}

TEST_F(Adopted, ConfiguredPricesDecideWhenABufferIsAdopted) {
    std::vector<std::unique_ptr<Pages>> kept;  // keeps the addresses of earlier cases in use
    // `uses`: the number of the use that adopts the buffer; 0: no use does.
    for (const auto& [copy_ns, uses] :
         {std::pair<std::uint64_t, int>{1, 0}, {1'000'000, 1}, {100'000, 3}}) {
        DirectMemory direct(own_peer(DirectMode::automatic, {.prices = {.adopt_ns = 200'000,
                                                                        .adopt_page_ns = 0,
                                                                        .window_ns = 100'000,
                                                                        .window_page_ns = 0,
                                                                        .copy_ns = copy_ns,
                                                                        .copied_byte_fs = 0}}));
        const Pages& pages = *kept.emplace_back(std::make_unique<Pages>(64));
        if (!direct.adoption_off().empty()) GTEST_SKIP() << direct.adoption_off();
        for (int use = 1; use <= 5; ++use) {
            const auto exposure = direct.expose(pages.at(), pages.bytes(), Access::read);
            EXPECT_EQ(exposure.reach.method,
                      uses == 0 || use < uses ? AccessMethod::copied : AccessMethod::remapped)
                << "copies of " << copy_ns << " ns, use " << use;
            direct.unexpose(exposure);
        }
    }
}

/// Frees the memory and maps new memory at its address.
void map_again(const Pages& pages) {
    ::munmap(pages.at(), pages.bytes());
    ASSERT_EQ(::mmap(pages.at(), pages.bytes(), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              pages.at());
}

TEST_F(Adopted, NewMappingsAreNeverReachedThroughTheOldRange) {
    DirectMemory direct(own_peer());
    const Pages pages(16);
    std::uint32_t last = 0;
    for (int round = 1; round <= 20; ++round) {
        fill(pages.at(), pages.bytes(), round);
        const auto exposure = direct.expose(pages.at(), pages.bytes(), Access::read);
        ASSERT_EQ(exposure.reach.method, AccessMethod::remapped) << round << why(direct);
        ASSERT_EQ(matching(direct.map(0, exposure.reach), pages.bytes(), round), pages.bytes());
        ASSERT_NE(exposure.reach.generation, last);
        last = exposure.reach.generation;
        direct.unexpose(exposure);
        if (round % 2 == 0)
            map_again(pages);
        else  // maps one page again
            ::mmap(pages.at() + 12 * kPage, kPage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    EXPECT_GE(direct.adoption_counters().lost, 19U);
}

/// Shows that the previous test detects a missing query of the kernel before each use.
TEST_F(Adopted, OldBytesAppearIfTheKernelIsNotQueried) {
    in_child([] {
        DirectMemory direct(own_peer(DirectMode::adopt, {.ask_before_use = false}));
        const Pages pages(16);
        fill(pages.at(), pages.bytes(), 1);
        adopt(direct, pages.at(), pages.bytes());
        map_again(pages);
        fill(pages.at(), pages.bytes(), 2);
        const auto exposure = direct.expose(pages.at(), pages.bytes(), Access::read);
        EXPECT_EQ(matching(direct.map(0, exposure.reach), pages.bytes(), 1), pages.bytes())
            << "the previous test would pass without the query of the kernel";
        direct.unexpose(exposure);
    });
}

/// Returns the memory of a shared-memory object in bytes.
std::uint64_t object_bytes(const base::FileDescriptor& copy) {
    struct stat status {};
    EXPECT_EQ(::fstat(copy.number(), &status), 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

/// Fills and adopts the memory. Returns a descriptor of the object that holds it.
base::FileDescriptor adopted_object(DirectMemory& direct, const Pages& pages) {
    fill(pages.at(), pages.bytes(), 1);
    const auto exposure = direct.expose(pages.at(), pages.bytes(), Access::read);
    direct.unexpose(exposure);
    return base::FileDescriptor(::dup(static_cast<int>(exposure.reach.object)));
}

/// One in 64 uses rechecks one entry of the table of ranges, so 64 * 300 uses recheck all entries.
TEST_F(Adopted, FreedMemoryIsReleasedWhenOtherBuffersAreUsed) {
    DirectMemory direct(own_peer());
    const Pages kept(16);
    adopt(direct, kept.at(), kept.bytes());
    base::FileDescriptor copy;
    {
        const Pages freed(16'384);
        copy = adopted_object(direct, freed);
        EXPECT_GE(object_bytes(copy), freed.bytes());
    }
    for (int i = 0; i < 64 * 300; ++i) adopt(direct, kept.at(), kept.bytes());
    EXPECT_EQ(object_bytes(copy), 0U);
}

TEST_F(Adopted, AFreedPartOfABufferIsReleasedWhenOthersAreUsed) {
    DirectMemory direct(own_peer());
    const Pages kept(16);
    adopt(direct, kept.at(), kept.bytes());
    const Pages pages(16'384);
    const base::FileDescriptor copy = adopted_object(direct, pages);
    constexpr std::size_t kFirst = 16 * kPage;
    ASSERT_EQ(::munmap(pages.at() + kFirst, pages.bytes() - kFirst), 0);
    for (int i = 0; i < 64 * 300; ++i) adopt(direct, kept.at(), kept.bytes());
    EXPECT_LE(object_bytes(copy), kFirst + 2 * kPage);
    EXPECT_EQ(matching(pages.at(), kFirst, 1), kFirst);
}

TEST_F(Adopted, BuffersBeyondTheLimitOfRangesAreCopied) {
    constexpr std::size_t kBuffers = 90;
    constexpr std::size_t kRanges = 64;
    in_child([] {
        DirectMemory direct(own_peer(DirectMode::adopt, {.ranges_max = kRanges}));
        if (!direct.adoption_off().empty()) return;
        std::vector<std::unique_ptr<Pages>> buffers;
        for (std::size_t i = 0; i < kBuffers; ++i) {
            buffers.push_back(std::make_unique<Pages>(5 + i % 4));
            fill(buffers[i]->at(), buffers[i]->bytes(), static_cast<int>(i));
        }
        for (int round = 0; round < 3; ++round)
            for (std::size_t i = 0; i < kBuffers; ++i) {
                const Pages& buffer = *buffers[i];
                const auto exposure = direct.expose(buffer.at(), buffer.bytes(), Access::read);
                ASSERT_EQ(exposure.reach.method,
                          i < kRanges ? AccessMethod::remapped : AccessMethod::copied)
                    << "buffer " << i;
                direct.unexpose(exposure);
                ASSERT_EQ(is_shared(buffer.at()), i < kRanges);
            }
        // After a buffer is freed, another can be adopted.
        buffers[3].reset();
        const Pages& last = *buffers[kBuffers - 1];
        adopt(direct, last.at(), last.bytes());
    });
}

TEST_F(Adopted, BuffersBeyondTheLimitOfBytesAreCopied) {
    in_child([] {
        DirectMemory direct(own_peer(DirectMode::adopt, {.bytes_max = 40 * kPage}));
        if (!direct.adoption_off().empty()) return;
        const Pages a(32);
        const Pages b(32);
        const Pages c(41);
        adopt(direct, a.at(), a.bytes());
        for (const Pages* refused : {&b, &c})
            EXPECT_EQ(direct.expose(refused->at(), refused->bytes(), Access::read).reach.method,
                      AccessMethod::copied);
        EXPECT_EQ(refusals(direct, Refusal::limit), 2U);
        EXPECT_TRUE(is_shared(a.at())) << "released for another buffer";
    });
}

TEST_F(Adopted, BuffersStayRemappedAfterTheRuntimeEnds) {
    const Pages pages(20);
    fill(pages.at(), pages.bytes(), 9);
    const auto mappings = mappings_with("weft-adopted");
    {
        DirectMemory direct(own_peer());
        adopt(direct, pages.at() + 7, pages.bytes() - 7);
    }
    EXPECT_TRUE(is_shared(pages.at() + kPage)) << "the buffer must stay remapped";
    EXPECT_EQ(mappings_with("weft-adopted"), mappings + 1)
        << "a second mapping would keep memory after munmap() of the buffer";
    EXPECT_EQ(matching(pages.at(), pages.bytes(), 9), pages.bytes());
    EXPECT_EQ(::madvise(pages.at() + kPage, kPage, MADV_DONTNEED), 0);
    EXPECT_EQ(pages.at()[kPage], std::byte{0});
    fill(pages.at(), pages.bytes(), 9);
    in_child([&] {
        if (matching(pages.at(), pages.bytes(), 9) != pages.bytes()) ::_exit(1);
        fill(pages.at(), pages.bytes(), 3);
    });
    EXPECT_EQ(matching(pages.at(), pages.bytes(), 9), pages.bytes());
    // The next runtime remaps the buffer again.
    DirectMemory direct(own_peer());
    adopt(direct, pages.at() + 7, pages.bytes() - 7);
    EXPECT_EQ(direct.adoption_counters().adoptions, 1U);
    EXPECT_EQ(matching(pages.at(), pages.bytes(), 9), pages.bytes());
}

int allocations = 0;  ///< number of calls of this file's `operator new`

TEST_F(Adopted, AKnownBufferTakesOneQueryAndNoAllocation) {
    DirectMemory direct(own_peer());
    const Pages pages(64);
    adopt(direct, pages.at() + 5, 60 * kPage);
    static_cast<void>(
        direct.map(0, direct.expose(pages.at() + 5, 60 * kPage, Access::write).reach));
    const std::uint64_t queries = direct.adoption_counters().queries;
    allocations = 0;
    for (int i = 0; i < 1000; ++i) {
        const auto exposure = direct.expose(pages.at() + 5, 60 * kPage, Access::write);
        static_cast<void>(direct.map(0, exposure.reach));
        direct.unexpose(exposure);
    }
    EXPECT_EQ(allocations, 0);
    EXPECT_EQ(direct.adoption_counters().queries, queries + 1000);
}

/// Makes every system call except ioctl() and exit_group() end the process.
void allow_only_ioctl_and_exit() {
    sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{5, rules};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

TEST_F(Adopted, TheQueryIsTheOnlySystemCallForAKnownBuffer) {
    const pid_t child = ::fork();
    if (child == 0) {
        DirectMemory direct(own_peer());
        const Pages pages(64);
        const auto use = [&] {
            const auto exposure = direct.expose(pages.at() + 5, 60 * kPage, Access::write);
            static_cast<void>(direct.map(0, exposure.reach));
            direct.unexpose(exposure);
        };
        use();
        allow_only_ioctl_and_exit();
        for (int i = 0; i < 100; ++i) use();
        ::syscall(SYS_exit_group, 0);
    }
    EXPECT_EQ(status_of(child), 0);
}

}  // namespace
}  // namespace weft::link::testing

[[gnu::noinline]] void* operator new(std::size_t bytes) {
    ++weft::link::testing::allocations;
    if (void* const at = std::malloc(bytes)) return at;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* at) noexcept {
    std::free(at);
}
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept {
    std::free(at);
}
