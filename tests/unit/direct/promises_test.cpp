// SPDX-License-Identifier: BSD-3-Clause
// Goal: adopted memory keeps the promises in the table of docs/direct-memory.md, and memory that
// cannot keep them is not adopted. Method: each test adopts memory and checks one promise.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "base/file_descriptor.hpp"
#include "base/random.hpp"
#include "link/direct/process_facts.hpp"
#include "link/direct/remapped_range.hpp"
#include "tests/unit/direct/own_peer.hpp"

namespace weft::link::testing {
namespace {

/// Forks, which makes the pages of ranges that no call uses private again.
void fork_once() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    EXPECT_EQ(status_of(child), 0);
}

TEST_F(Adopted, AdviceThatFreesPagesFreesThem) {
    DirectMemory direct(own_peer());
    for (const int advice : {MADV_DONTNEED, MADV_FREE, MADV_DONTNEED_LOCKED}) {
        const Pages pages(16);
        fill(pages.at(), pages.bytes(), 1);
        adopt(direct, pages.at() + 8, pages.bytes() - 8);
        EXPECT_EQ(::madvise(pages.at() + 4 * kPage, 4 * kPage, advice), 0) << "advice " << advice;
        EXPECT_EQ(matching(pages.at(), pages.bytes(), 1), 4 * kPage) << "advice " << advice;
        for (std::size_t i = 4 * kPage; i < 8 * kPage; ++i)
            ASSERT_EQ(pages.at()[i], std::byte{0}) << "advice " << advice;
        EXPECT_TRUE(is_shared(pages.at() + 12 * kPage)) << "became private without a fork";
        adopt(direct, pages.at() + 8, pages.bytes() - 8);
        EXPECT_EQ(pages.at()[5 * kPage], std::byte{0});
        EXPECT_EQ(pages.at()[9 * kPage], pattern(9 * kPage, 1));
    }
}

TEST_F(Adopted, PagesWithMadvDontforkStayOutOfChildren) {
    DirectMemory direct(own_peer());
    const Pages pages(16);
    adopt(direct, pages.at(), pages.bytes());
    ASSERT_EQ(::madvise(pages.at() + 4 * kPage, kPage, MADV_DONTFORK), 0);
    EXPECT_EQ(direct.expose(pages.at(), pages.bytes(), Access::read).reach.method,
              AccessMethod::copied);
    EXPECT_EQ(refusals(direct, Refusal::property), 1U);
    in_child([&] {
        unsigned char resident = 0;
        if (::mincore(pages.at() + 4 * kPage, kPage, &resident) != -1) ::_exit(1);
        if (::mincore(pages.at() + 8 * kPage, kPage, &resident) != 0) ::_exit(2);
    });
}

TEST_F(Adopted, ReadOnlyMemoryIsReadButNotWritten) {
    DirectMemory direct(own_peer());
    const Pages pages(16);
    fill(pages.at(), pages.bytes(), 1);
    adopt(direct, pages.at(), pages.bytes());
    ASSERT_EQ(::mprotect(pages.at(), pages.bytes(), PROT_READ), 0);
    const auto read = direct.expose(pages.at(), pages.bytes(), Access::read);
    EXPECT_EQ(read.reach.method, AccessMethod::remapped);
    direct.unexpose(read);
    const auto write = direct.expose(pages.at(), pages.bytes(), Access::write);
    EXPECT_EQ(write.reach.method, AccessMethod::copied);
    std::byte byte{1};
    EXPECT_FALSE(direct.write(0, write.reach.address, &byte, 1));
    direct.unexpose(write);
    EXPECT_EQ(matching(pages.at(), pages.bytes(), 1), pages.bytes());
    // No peer can read a page that is not readable.
    ASSERT_EQ(::mprotect(pages.at(), pages.bytes(), PROT_READ | PROT_WRITE), 0);
    adopt(direct, pages.at(), pages.bytes());
    ASSERT_EQ(::mprotect(pages.at() + 3 * kPage, kPage, PROT_NONE), 0);
    const auto hidden = direct.expose(pages.at(), pages.bytes(), Access::read);
    EXPECT_EQ(hidden.reach.method, AccessMethod::copied);
    EXPECT_FALSE(direct.read(0, hidden.reach.at(3 * kPage).address, &byte, 1));
}

TEST_F(Adopted, OtherKindsOfMemoryAreCopied) {
    DirectMemory direct(own_peer());
    constexpr std::size_t kBytes = 16 * kPage;
    const base::FileDescriptor file(::memfd_create("file", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(file.number(), kBytes), 0);
    struct Kind {
        int protection;
        int flags;
        int descriptor;
    };
    const Kind kinds[] = {
        {PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1},
        {PROT_READ | PROT_WRITE, MAP_SHARED, file.number()},
        {PROT_READ | PROT_WRITE, MAP_PRIVATE, file.number()},
        {PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1},
        {PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1},
    };
    std::uint64_t tried = 0;
    for (const Kind& kind : kinds) {
        const std::size_t bytes = (kind.flags & MAP_HUGETLB) != 0 ? 2 << 20 : kBytes;
        void* const at = ::mmap(nullptr, bytes, kind.protection, kind.flags, kind.descriptor, 0);
        if (at == MAP_FAILED) continue;  // the machine has no huge pages
        auto* const data = static_cast<std::byte*>(at);
        EXPECT_EQ(direct.expose(data, bytes, Access::read).reach.method, AccessMethod::copied)
            << "kind " << tried;
        EXPECT_EQ(refusals(direct, Refusal::kind), ++tried);
        ::munmap(at, bytes);
    }
    EXPECT_GE(tried, 4U);
    const auto unmapped = direct.expose(nullptr, kBytes, Access::read);
    EXPECT_EQ(unmapped.reach.method, AccessMethod::copied);
}

std::byte in_bss[40 * kPage];

TEST_F(Adopted, StaticBuffersAndThreadStacksAreAdopted) {
    DirectMemory direct(own_peer());
    std::byte* const data = in_bss + 3;
    const std::size_t bytes = 39 * kPage;
    fill(data, bytes, 6);
    const auto exposure = direct.expose(data, bytes, Access::write);
    EXPECT_EQ(exposure.reach.method, AccessMethod::remapped);
    std::memset(direct.map(0, exposure.reach) + 100, 1, 10 * kPage);
    direct.unexpose(exposure);
    for (std::size_t i = 0; i < 10 * kPage; ++i) ASSERT_EQ(data[100 + i], std::byte{1});
    std::thread([&] {
        std::byte on_its_stack[40 * kPage];
        fill(on_its_stack, sizeof on_its_stack, 7);
        adopt(direct, on_its_stack, sizeof on_its_stack);
        EXPECT_EQ(matching(on_its_stack, sizeof on_its_stack, 7), sizeof on_its_stack);
    }).join();
}

TEST_F(Adopted, MemoryThatGrowsDownwardsIsNotRemapped) {
    DirectMemory direct(own_peer());
    std::byte on_stack[40 * kPage];
    EXPECT_EQ(direct.expose(on_stack, sizeof on_stack, Access::read).reach.method,
              AccessMethod::copied);
    EXPECT_EQ(refusals(direct, Refusal::property), 1U);
}

TEST_F(Adopted, ThreadsReadABufferWhileItsPagesAreReplaced) {
    DirectMemory direct(own_peer());
    const Pages pages(256);
    fill(pages.at(), pages.bytes(), 8);
    std::atomic<bool> done{false};
    std::atomic<std::size_t> wrong{0};
    std::thread reader([&] {
        while (!done.load())
            if (matching(pages.at(), pages.bytes(), 8) != pages.bytes()) wrong.fetch_add(1);
    });
    for (int i = 0; i < 100; ++i) {
        adopt(direct, pages.at() + 1, pages.bytes() - 1);
        // Private memory refuses MADV_REMOVE.
        ASSERT_EQ(::madvise(pages.at() + kPage, kPage, MADV_REMOVE), -1);
        adopt(direct, pages.at() + 1, pages.bytes() - 1);
        adopt(direct, pages.at() + kPage, pages.bytes() - kPage);
    }
    done.store(true);
    reader.join();
    EXPECT_EQ(wrong.load(), 0U);
}

/// Each buffer contains the one before, and replaces its range.
TEST_F(Adopted, ThreadsReadABufferWhileALargerOneReplacesIt) {
    constexpr std::size_t kPages = 2048;
    for (int round = 0; round < 10; ++round) {
        DirectMemory direct(own_peer());
        const Pages pages(kPages);
        std::memset(pages.at(), 8, pages.bytes());
        std::atomic<bool> done{false};
        std::atomic<std::size_t> wrong{0};
        std::thread reader([&] {
            while (!done.load())
                for (std::size_t page = 0; page < kPages; ++page)
                    if (*static_cast<volatile std::byte*>(pages.at() + page * kPage) !=
                        std::byte{8})
                        wrong.fetch_add(1);
        });
        for (std::size_t first = kPages / 2 - 64; first > 0; first -= 64)
            adopt(direct, pages.at() + first * kPage, (kPages - 2 * first) * kPage);
        done.store(true);
        reader.join();
        EXPECT_EQ(wrong.load(), 0U) << "round " << round;
    }
}

TEST_F(Adopted, LockedMemoryIsNotAdoptedAndStaysLocked) {
    const Pages pages(16);
    DirectMemory direct(own_peer());
    ASSERT_EQ(::mlock(pages.at() + kPage, kPage), 0);
    EXPECT_EQ(direct.expose(pages.at(), pages.bytes(), Access::read).reach.method,
              AccessMethod::copied);
    EXPECT_EQ(refusals(direct, Refusal::property), 1U);
    ASSERT_EQ(::munlock(pages.at() + kPage, kPage), 0);
    adopt(direct, pages.at(), pages.bytes());
    if (::mlock(pages.at(), pages.bytes()) != 0) GTEST_SKIP() << "the process may not lock memory";
    const auto locked = kib_of("status", "VmLck:");
    if (locked == 0) GTEST_SKIP() << "a sanitizer ignores mlock()";
    EXPECT_EQ(locked, pages.bytes() / 1024);
    fork_once();
    EXPECT_TRUE(is_shared(pages.at())) << "new private pages would not be locked";
    EXPECT_EQ(kib_of("status", "VmLck:"), locked);
}

TEST_F(Adopted, MemoryOfAnIoRingIsNeitherAdoptedNorMadePrivate) {
    const Pages pages(16);
    const Pages other(16);
    base::FileDescriptor ring;
    {
        DirectMemory direct(own_peer());
        adopt(direct, pages.at(), pages.bytes());
        io_uring_params parameters{};
        ring =
            base::FileDescriptor(static_cast<int>(::syscall(SYS_io_uring_setup, 4, &parameters)));
        if (!ring.open()) GTEST_SKIP() << "this system has no io_uring";
        const iovec buffer{pages.at(), pages.bytes()};
        ASSERT_EQ(
            ::syscall(SYS_io_uring_register, ring.number(), IORING_REGISTER_BUFFERS, &buffer, 1),
            0);
        EXPECT_GT(pinned_bytes(), 0U);
        EXPECT_EQ(direct.expose(other.at(), other.bytes(), Access::read).reach.method,
                  AccessMethod::copied);
        EXPECT_EQ(refusals(direct, Refusal::held), 1U);
        // madvise() changes only the named pages; the ring still uses the other pages.
        fill(pages.at(), pages.bytes(), 1);
        EXPECT_EQ(::madvise(pages.at() + 4 * kPage, kPage, MADV_DONTNEED), 0);
        EXPECT_EQ(pages.at()[4 * kPage], std::byte{0});
        EXPECT_EQ(::madvise(pages.at() + 8 * kPage, kPage, MADV_DONTDUMP), 0);
        EXPECT_EQ(::madvise(pages.at() + 9 * kPage, kPage, MADV_REMOVE), -1);
        EXPECT_EQ(pages.at()[9 * kPage], pattern(9 * kPage, 1));
        EXPECT_TRUE(is_shared(pages.at() + 8 * kPage))
            << "the ring would write pages that the program does not see";
        in_child([&] {
            unsigned char resident = 0;
            if (is_shared(pages.at())) ::_exit(1);
            if (matching(pages.at(), 4 * kPage, 1) != 4 * kPage) ::_exit(2);
            if (::mincore(other.at(), kPage, &resident) != 0) ::_exit(3);
        });
    }
    EXPECT_TRUE(is_shared(pages.at()))
        << "the ring would write pages that the program does not see";
    ::syscall(SYS_io_uring_register, ring.number(), IORING_UNREGISTER_BUFFERS, nullptr, 0);
    while (pinned_bytes() != 0) std::this_thread::yield();
}

TEST_F(Adopted, TheOwnersCoreDumpHasEveryPageOnce) {
    in_child([] {
        DirectMemory direct(own_peer());
        const Pages pages(16);
        const auto exposure = direct.expose(pages.at(), pages.bytes(), Access::read);
        static_cast<void>(direct.map(0, exposure.reach));
        std::ifstream maps("/proc/self/smaps");
        int dumped = 0;
        int not_dumped = 0;
        bool ours = false;
        for (std::string line; std::getline(maps, line);) {
            if (line.find(" rw-s ") != std::string::npos)
                ours = line.find("weft-adopted") != std::string::npos;
            if (line.rfind("VmFlags:", 0) != 0 || !ours) continue;
            ++(line.find(" dd") == std::string::npos ? dumped : not_dumped);
            ours = false;
        }
        EXPECT_EQ(dumped, 1);
        EXPECT_EQ(not_dumped, 2) << "the owner's window and the peer's";
        direct.unexpose(exposure);
    });
}

TEST_F(Adopted, AdoptionDoesNotDoubleMemory) {
    DirectMemory direct(own_peer());
    const Pages pages(16'384);
    fill(pages.at(), pages.bytes(), 1);
    const auto used = [] { return kib_of("smaps_rollup", "Pss:"); };
    const std::uint64_t before = used();
    adopt(direct, pages.at(), pages.bytes());
    EXPECT_LT(used(), before + 1'000);
    fork_once();
    EXPECT_FALSE(is_shared(pages.at() + kPage));
    EXPECT_LT(used(), before + 1'000);
    EXPECT_EQ(matching(pages.at(), pages.bytes(), 1), pages.bytes());
}

/// Returns the memory in large pages that this process has mapped, in KiB.
std::uint64_t mapped_by_large_pages() {
    return kib_of("smaps_rollup", "ShmemPmdMapped:");
}

/// Adopts a buffer of nearly four large pages after madvise(advice). Checks its contents, and that
/// all its mappings use large pages.
void adopt_in_large_pages(int advice, std::size_t start) {
    constexpr std::size_t kLarge = std::size_t{2} << 20;
    const Pages pages(4 * kLarge / kPage);
    ::madvise(pages.at(), pages.bytes(), advice);
    fill(pages.at(), pages.bytes(), 1);
    const std::uint64_t before = mapped_by_large_pages();
    DirectMemory direct(own_peer());
    const std::size_t bytes = pages.bytes() - start - kPage;
    const auto exposure = direct.expose(pages.at() + start, bytes, Access::write);
    ASSERT_EQ(exposure.reach.method, AccessMethod::remapped);
    std::byte* const seen = direct.map(0, exposure.reach);
    EXPECT_EQ(std::memcmp(seen, pages.at() + start, bytes), 0);
    std::memset(seen, 3, bytes);
    EXPECT_EQ(std::memcmp(exposure.alias, seen, bytes), 0);
    direct.unexpose(exposure);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(pages.at()[start + i], std::byte{3});
    EXPECT_EQ(pages.at()[start + bytes], pattern(start + bytes, 1));
    // The object is mapped three times: in the buffer, the owner's window and the peer's window.
    // One large page in each is enough, as a slow large page stops further attempts.
    EXPECT_GE(mapped_by_large_pages(), before + 3 * kLarge / 1024)
        << "start " << start << ", advice " << advice;
}

TEST_F(Adopted, LargeBuffersUseLargePages) {
    if (!LargePages().expected()) GTEST_SKIP() << "large pages are switched off on this system";
    // 16 bytes after the start of a page, as malloc() returns, and 100 pages later.
    for (const std::size_t start : {std::size_t{16}, 100 * kPage + 16})
        for (const int advice : {MADV_HUGEPAGE, MADV_NOHUGEPAGE})
            adopt_in_large_pages(advice, start);
}

TEST_F(Adopted, TheAllocatorMayReuseAdoptedBuffers) {
    DirectMemory direct(own_peer(DirectMode::adopt, {.ranges_max = 32}));
    struct Buffer {
        std::byte* data = nullptr;
        std::size_t bytes = 0;
        int salt = 0;
    };
    std::vector<Buffer> buffers(40);
    base::Random random(7);
    for (int step = 0; step < 1500; ++step) {
        SCOPED_TRACE(::testing::Message() << "step " << step);
        Buffer& buffer = buffers[random.below(buffers.size())];
        ASSERT_EQ(matching(buffer.data, buffer.bytes, buffer.salt), buffer.bytes);
        const std::size_t bytes = 20'000 + random.below(random.chance(1, 10) ? 4'000'000 : 300'000);
        if (random.chance(1, 3)) {
            std::free(buffer.data);
            buffer = {};
        } else if (random.chance(1, 2)) {
            const std::size_t kept = std::min(bytes, buffer.bytes);
            buffer.data = static_cast<std::byte*>(std::realloc(buffer.data, bytes));
            ASSERT_EQ(matching(buffer.data, kept, buffer.salt), kept);
            buffer.bytes = bytes;
            buffer.salt = step;
            fill(buffer.data, bytes, step);
        } else {
            std::free(buffer.data);
            buffer = {static_cast<std::byte*>(std::calloc(bytes, 1)), bytes, step};
            for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(buffer.data[i], std::byte{0});
            fill(buffer.data, bytes, step);
        }
        if (buffer.bytes > 0)
            direct.unexpose(direct.expose(buffer.data, buffer.bytes, Access::write));
    }
    EXPECT_GT(direct.adoption_counters().adoptions, 30U);
    for (const Buffer& buffer : buffers) std::free(buffer.data);
}

TEST_F(Adopted, ClosingAllDescriptorsLosesNoData) {
    in_child([&] {
        const Pages pages(16);
        fill(pages.at(), pages.bytes(), 1);
        int opened = -1;
        {
            DirectMemory direct(own_peer());
            adopt(direct, pages.at(), pages.bytes());
            ::close_range(3, ~0U, 0);
            opened = ::open("/dev/null", O_RDONLY);
            ::open("/dev/null", O_RDONLY);
            const auto exposure = direct.expose(pages.at(), pages.bytes(), Access::read);
            if (!direct.read(0, exposure.reach.address, pages.at(), 1)) ::_exit(1);
            direct.unexpose(exposure);
        }
        if (::fcntl(opened, F_GETFD) < 0) ::_exit(2);  // the library closed the program's file
        if (matching(pages.at(), pages.bytes(), 1) != pages.bytes()) ::_exit(3);
        const pid_t child = ::fork();
        if (child == 0) ::_exit(is_shared(pages.at()) ? 1 : 0);
        if (status_of(child) != 0) ::_exit(4);
    });
}

TEST_F(Adopted, ALargeBufferIsRemappedAndMadePrivateInPieces) {
    constexpr std::size_t kBytes = std::size_t{200} << 20;
    const Pages pages(kBytes / kPage);
    fill(pages.at(), kBytes, 1);
    DirectMemory direct(own_peer());
    adopt(direct, pages.at() + 1, kBytes - 1);
    EXPECT_EQ(matching(pages.at(), kBytes, 1), kBytes);
    fill(pages.at(), kBytes, 2);
    fork_once();
    EXPECT_FALSE(is_shared(pages.at() + kPage));
    EXPECT_EQ(matching(pages.at(), kBytes, 2), kBytes);
}

TEST_F(Adopted, RuntimesOfOneProcessShareARange) {
    const Pages pages(16);
    fill(pages.at(), pages.bytes(), 1);
    auto first = std::make_unique<DirectMemory>(own_peer());
    DirectMemory second(own_peer());
    adopt(*first, pages.at(), pages.bytes());
    adopt(second, pages.at(), pages.bytes());
    EXPECT_EQ(second.adoption_counters().adoptions, 0U)
        << "the second runtime did not use the range of the first runtime";
    first.reset();
    adopt(second, pages.at(), pages.bytes());
    EXPECT_EQ(matching(pages.at(), pages.bytes(), 1), pages.bytes());
}

TEST_F(Adopted, ThisProgramUsesTheAllocatorOfTheLibrary) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    EXPECT_FALSE(has_library_allocator());
#else
    EXPECT_TRUE(has_library_allocator()) << "own_malloc.cpp tests a program without it";
#endif
    EXPECT_TRUE(interposers_are_reached());
}

}  // namespace
}  // namespace weft::link::testing
