// SPDX-License-Identifier: BSD-3-Clause
// Goal: memory is not adopted if that would exceed a limit of the process or lose a property of the
// memory, and no data is lost. Method: a child sets limits before and after memory is adopted.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <fstream>

#include "tests/support/full_mode.hpp"
#include "tests/unit/direct/own_peer.hpp"

namespace weft::link::testing {
namespace {

/// Calls mbind(), whose wrapper is in libnuma.
long bind_memory(const Pages& pages, const unsigned long* nodes, unsigned flags) {
    return ::syscall(SYS_mbind, pages.at(), pages.bytes(), MPOL_BIND, nodes, 64, flags);
}

void expect_copied(DirectMemory& direct, const Pages& pages, Refusal reason) {
    const std::uint64_t before = refusals(direct, reason);
    const auto exposure = direct.expose(pages.at(), pages.bytes(), Access::write);
    EXPECT_EQ(exposure.reach.method, AccessMethod::copied);
    EXPECT_EQ(refusals(direct, reason), before + 1) << why(direct);
    std::byte byte{};
    EXPECT_TRUE(direct.read(0, exposure.reach.address, &byte, 1));
    direct.unexpose(exposure);
}

TEST_F(Adopted, MemoryIsCopiedIfTheKernelDoesNotAnswer) {
    in_child([] {
        refuse_system_call(SYS_ioctl, ENOTTY);
        DirectMemory direct(own_peer());
        const Pages pages(16);
        const auto exposure = direct.expose(pages.at(), pages.bytes(), Access::read);
        std::byte byte{};
        if (direct.adoption_off().empty() || exposure.reach.method != AccessMethod::copied)
            ::_exit(1);
        if (!direct.read(0, exposure.reach.address, &byte, 1)) ::_exit(2);
    });
}

TEST_F(Adopted, ARefusalOfTheKernelToCopyIsDetected) {
    in_child([] {
        refuse_system_call(SYS_process_vm_readv, EPERM);
        std::uint64_t number = 5;
        if (DirectMemory::can_copy(::getpid(), &number, 5)) ::_exit(1);
        DirectMemory direct(own_peer());
        const Pages pages(16);
        const auto exposure = direct.expose(pages.at(), pages.bytes(), Access::read);
        std::byte byte{};
        if (direct.read(0, exposure.reach.address, &byte, 1)) ::_exit(2);
        if (direct.map(0, exposure.reach) == nullptr) ::_exit(3);
    });
}

TEST_F(Adopted, AFileSizeLimitIsRespected) {
    in_child([] {
        const rlimit limit{1 << 20, 1 << 20};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        DirectMemory direct(own_peer());
        const Pages pages(1024);
        const auto exposure = direct.expose(pages.at(), pages.bytes(), Access::read);
        if (exposure.reach.method != AccessMethod::copied) ::_exit(1);
    });
}

TEST_F(Adopted, ALaterFileSizeLimitIsRespected) {
    in_child([] {
        DirectMemory direct(own_peer());
        const Pages pages(1024);
        fill(pages.at(), pages.bytes(), 1);
        const rlimit limit{1 << 20, 1 << 20};
        ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
        expect_copied(direct, pages, Refusal::system);  // otherwise SIGXFSZ would end the process
        EXPECT_EQ(matching(pages.at(), pages.bytes(), 1), pages.bytes());
    });
}

TEST_F(Adopted, AnAddressSpaceLimitIsRespected) {
    if (test::kSanitized) GTEST_SKIP() << "a sanitizer maps terabytes";
    in_child([] {
        DirectMemory direct(own_peer());
        const Pages large(1024);
        const Pages small(16);
        fill(large.at(), large.bytes(), 1);
        fill(small.at(), small.bytes(), 2);
        const std::uint64_t used = kib_of("status", "VmSize:") * 1024;
        const rlimit limit{used + (1 << 20), used + (1 << 20)};
        ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
        expect_copied(direct, large, Refusal::system);
        EXPECT_EQ(matching(large.at(), large.bytes(), 1), large.bytes());
        adopt(direct, small.at(), small.bytes());
        EXPECT_EQ(matching(small.at(), small.bytes(), 2), small.bytes());
    });
}

/// Uses up the mappings that the process may have, at most `count`: neighboring pages get different
/// protections.
class FullMap {
  public:
    explicit FullMap(std::size_t count)
        : at_(static_cast<std::byte*>(::mmap(nullptr, 2 * count * kPage, PROT_READ,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))),
          bytes_(2 * count * kPage) {
        while (used_ + 2 * kPage <= bytes_ &&
               ::mprotect(at_ + used_, kPage, PROT_READ | PROT_WRITE) == 0)
            used_ += 2 * kPage;
    }
    FullMap(const FullMap&) = delete;
    FullMap& operator=(const FullMap&) = delete;
    ~FullMap() { ::munmap(at_, bytes_); }
    [[nodiscard]] bool is_full() const { return used_ + 2 * kPage <= bytes_; }
    /// Merges three mappings, so that the process may make two more.
    void allow_two_more() {
        used_ -= 2 * kPage;
        ::mprotect(at_ + used_, kPage, PROT_READ);
    }

  private:
    std::byte* at_;
    std::size_t bytes_;
    std::size_t used_ = 0;
};

TEST_F(Adopted, NoDataIsLostAtTheLimitOfMappings) {
    std::size_t mappings_max = 0;
    std::ifstream("/proc/sys/vm/max_map_count") >> mappings_max;
    if (mappings_max > 300'000)
        GTEST_SKIP() << "the system permits " << mappings_max << " mappings, too many to make";
    in_child([&] {
        DirectMemory direct(own_peer());
        const Pages known(16);
        fill(known.at(), known.bytes(), 1);
        adopt(direct, known.at(), known.bytes());
        const Pages pages(48);
        fill(pages.at(), pages.bytes(), 2);
        FullMap full(mappings_max);
        ASSERT_TRUE(full.is_full());
        int adopted = 0;
        // A buffer in the middle of a mapping needs two more mappings, and its window one or two.
        for (int free = 0; free < 12; ++free, full.allow_two_more(), full.allow_two_more()) {
            const auto exposure = direct.expose(pages.at() + 16 * kPage, 16 * kPage, Access::write);
            adopted += exposure.reach.method == AccessMethod::remapped ? 1 : 0;
            direct.unexpose(exposure);
            ASSERT_EQ(matching(pages.at(), pages.bytes(), 2), pages.bytes())
                << "iteration " << free;
            // The fork makes the range private, which needs no more mappings.
            const pid_t child = ::fork();
            if (child == 0)
                ::_exit(matching(known.at(), known.bytes(), 1) == known.bytes() ? 0 : 1);
            ASSERT_EQ(status_of(child), 0) << "iteration " << free;
            EXPECT_FALSE(is_shared(pages.at() + 16 * kPage));
            ASSERT_EQ(matching(pages.at(), pages.bytes(), 2), pages.bytes())
                << "iteration " << free;
        }
        EXPECT_GT(adopted, 0);
        EXPECT_LT(adopted, 12);
        // madvise() can clear a page in the middle even if no mapping can be split.
        adopt(direct, known.at(), known.bytes());
        const FullMap rest(mappings_max);
        ASSERT_TRUE(rest.is_full());
        EXPECT_EQ(::madvise(known.at() + 4 * kPage, kPage, MADV_DONTNEED), 0);
        EXPECT_EQ(known.at()[4 * kPage], std::byte{0});
        EXPECT_EQ(matching(known.at(), known.bytes(), 1), 4 * kPage);
        EXPECT_EQ(known.at()[5 * kPage], pattern(5 * kPage, 1));
    });
}

TEST_F(Adopted, GuardPagesAreKept) {
    constexpr int kInstall = 102;  // MADV_GUARD_INSTALL, which old headers lack
    constexpr int kRemove = 103;   // MADV_GUARD_REMOVE
    // Some kernels keep a mark on a mapping that has had a guard page, and memory that is mapped
    // next to it joins the mapping, unless the protections differ.
    const Pages other(3);
    ASSERT_EQ(::mprotect(other.at(), kPage, PROT_NONE), 0);
    ASSERT_EQ(::mprotect(other.at() + 2 * kPage, kPage, PROT_NONE), 0);
    if (::madvise(other.at() + kPage, kPage, kInstall) != 0)
        GTEST_SKIP() << "this kernel has no guard pages";
    DirectMemory direct(own_peer());
    const Pages pages(16);
    fill(pages.at(), pages.bytes(), 1);
    adopt(direct, pages.at(), pages.bytes());
    ASSERT_EQ(::madvise(pages.at() + 4 * kPage, kPage, kInstall), 0) << std::strerror(errno);
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGSEGV, SIG_DFL);
        volatile std::byte found = pages.at()[4 * kPage];
        static_cast<void>(found);
        ::_exit(0);
    }
    EXPECT_NE(status_of(child), 0) << "the child could read a guard page";
    ASSERT_EQ(::madvise(pages.at() + 4 * kPage, kPage, kRemove), 0);
    EXPECT_EQ(pages.at()[4 * kPage + 5], std::byte{0}) << "the old contents are back";
    EXPECT_EQ(matching(pages.at(), 4 * kPage, 1), 4 * kPage);
}

TEST_F(Adopted, MemoryWithANumaPolicyIsNotMoved) {
    const unsigned long first_node = 1;  // set of nodes as a bit mask
    const Pages bound(16);
    if (bind_memory(bound, &first_node, 0) != 0)
        GTEST_SKIP() << "no memory policies here: " << std::strerror(errno);
    DirectMemory direct(own_peer());
    expect_copied(direct, bound, Refusal::placed);
    // A policy set later applies to the pages of the object.
    const Pages pages(16);
    fill(pages.at(), pages.bytes(), 1);
    adopt(direct, pages.at(), pages.bytes());
    ASSERT_EQ(bind_memory(pages, &first_node, MPOL_MF_STRICT), 0);
    EXPECT_EQ(matching(pages.at(), pages.bytes(), 1), pages.bytes());
    adopt(direct, pages.at(), pages.bytes());
    // A policy of the process applies to pages of objects, too.
    in_child([&] {
        ASSERT_EQ(::syscall(SYS_set_mempolicy, MPOL_BIND, &first_node, 64), 0);
        DirectMemory other(own_peer());
        const Pages any(16);
        adopt(other, any.at(), any.bytes());
    });
}

TEST_F(Adopted, ProtectionKeysAreKept) {
    const int key = ::pkey_alloc(0, 0);
    if (key < 0) GTEST_SKIP() << "no protection keys here: " << std::strerror(errno);
    DirectMemory direct(own_peer());
    const Pages pages(16);
    adopt(direct, pages.at(), pages.bytes());
    ASSERT_EQ(::pkey_mprotect(pages.at(), pages.bytes(), PROT_READ | PROT_WRITE, key), 0);
    const Pages other(16);
    ASSERT_EQ(::pkey_mprotect(other.at(), other.bytes(), PROT_READ | PROT_WRITE, key), 0);
    expect_copied(direct, other, Refusal::property);
    ::pkey_free(key);
}

TEST_F(Adopted, MemoryOfAFailedCallIsRevokedFromLocalPeers) {
    DirectMemory direct(own_peer());
    const Pages pages(32);
    fill(pages.at(), pages.bytes(), 1);
    for (const bool failed : {true, false}) {
        const auto exposure = direct.expose(pages.at(), pages.bytes(), Access::write);
        ASSERT_EQ(exposure.reach.method, AccessMethod::remapped) << why(direct);
        std::byte* const seen = direct.map(0, exposure.reach);
        if (failed)
            direct.revoke(exposure);
        else
            direct.unexpose(exposure);
        std::memset(seen, 0x77, pages.bytes());  // a peer has not detected the failure
        EXPECT_EQ(matching(pages.at(), pages.bytes(), 1), failed ? pages.bytes() : 0)
            << (failed ? "after a failure" : "without a failure");
    }
}

TEST_F(Adopted, FourGibibytesAreRemapped) {
    constexpr std::size_t kBytes = std::size_t{4} << 30;
    const std::uint64_t available = kib_of("../meminfo", "MemAvailable:") * 1024;
    if (!test::full_mode()) GTEST_SKIP() << "only in the full mode";
    if (available < kBytes + (kBytes >> 2)) GTEST_SKIP() << available << " bytes of memory";
    const Pages pages(kBytes / kPage + 1);
    const auto word = [&](std::size_t page) -> std::uint64_t& {
        return *reinterpret_cast<std::uint64_t*>(pages.at() + page * kPage + 8);
    };
    for (std::size_t page = 0; page <= kBytes / kPage; ++page) word(page) = page * 3;
    {
        DirectMemory direct(own_peer());
        const auto exposure = direct.expose(pages.at() + 100, kBytes, Access::write);
        ASSERT_EQ(exposure.reach.method, AccessMethod::remapped) << why(direct);
        std::byte* const seen = direct.map(0, exposure.reach);
        for (std::size_t page = 1; page <= kBytes / kPage; ++page) {
            auto& there = *reinterpret_cast<std::uint64_t*>(seen - 100 + page * kPage + 8);
            ASSERT_EQ(there, page * 3);
            if (page < kBytes / kPage) there = page * 5;
        }
        direct.unexpose(exposure);
    }
    for (std::size_t page = 1; page < kBytes / kPage; ++page) ASSERT_EQ(word(page), page * 5);
    EXPECT_EQ(word(0), 0U);
}

}  // namespace
}  // namespace weft::link::testing
