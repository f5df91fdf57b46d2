// SPDX-License-Identifier: BSD-3-Clause
// Goal: after a fork, parent and child do not see each other's writes to adopted memory, no write
// of a thread is lost, and calls in progress return the right result. Method: parent and child
// write to the memory and compare its contents.
#include <gtest/gtest.h>
#include <spawn.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/support/shared_object.hpp"
#include "tests/unit/direct/own_peer.hpp"

extern char** environ;

namespace weft::link::testing {
namespace {

/// Barrier of a process and its child.
class ForkBarrier {
  public:
    /// Waits until the other process also waits, but at most 20 seconds.
    void wait() {
        arrived_->fetch_add(1);
        expected_ += 2;
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (arrived_->load() < expected_) {
            ::sched_yield();
            // The child may have found an error and exited.
            if (std::chrono::steady_clock::now() > deadline) return;
        }
    }

  private:
    test::SharedObject<std::atomic<int>> arrived_;
    int expected_ = 0;  ///< value of `arrived_` after both processes have called wait()
};

TEST_F(Adopted, ParentAndChildDoNotSeeEachOthersWrites) {
    DirectMemory direct(own_peer());
    const Pages pages(10'000);
    fill(pages.at(), pages.bytes(), 1);
    adopt(direct, pages.at() + 9, pages.bytes() - 9);
    ForkBarrier barrier;
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        if (matching(pages.at(), pages.bytes(), 1) != pages.bytes()) ::_exit(1);
        barrier.wait();  // the parent writes
        barrier.wait();
        if (matching(pages.at(), pages.bytes(), 1) != pages.bytes()) ::_exit(2);
        fill(pages.at(), pages.bytes(), 3);
        barrier.wait();  // the parent compares
        if (direct.expose(pages.at(), pages.bytes(), Access::read).reach.method !=
            AccessMethod::copied)
            ::_exit(3);
        ::_exit(0);
    }
    barrier.wait();
    fill(pages.at(), pages.bytes(), 2);
    barrier.wait();
    barrier.wait();
    EXPECT_EQ(matching(pages.at(), pages.bytes(), 2), pages.bytes());
    EXPECT_EQ(status_of(child), 0);
    EXPECT_FALSE(is_shared(pages.at() + kPage));
    EXPECT_EQ(::madvise(pages.at() + kPage, kPage, MADV_DONTNEED), 0);
    for (std::size_t i = kPage; i < 2 * kPage; ++i) ASSERT_EQ(pages.at()[i], std::byte{0});
    fill(pages.at(), pages.bytes(), 2);
    adopt(direct, pages.at() + 9, pages.bytes() - 9);
    EXPECT_EQ(matching(pages.at(), pages.bytes(), 2), pages.bytes());
}

TEST_F(Adopted, WritesOfAThreadDuringAForkAreKept) {
    DirectMemory direct(own_peer());
    const Pages pages(64);
    auto* const words = reinterpret_cast<std::atomic<std::uint64_t>*>(pages.at());
    const std::size_t count = pages.bytes() / 8;
    // 0: the thread must not write, as in a call that uses the buffer; 1: may write; 2: must end.
    std::atomic<int> state{0};
    std::atomic<bool> writing{false};
    std::atomic<std::uint64_t> lost{0};
    std::thread writer([&] {
        for (std::uint64_t value = 1; state.load() != 2;) {
            writing.store(true);
            if (state.load() == 1) {
                for (std::size_t i = 0; i < count; i += 64) words[i].store(value);
                for (std::size_t i = 0; i < count; i += 64)
                    if (words[i].load() != value) lost.fetch_add(1);
                ++value;
            }
            writing.store(false);
        }
    });
    for (int round = 0; round < 100; ++round) {
        state.store(0);
        while (writing.load()) std::this_thread::yield();
        adopt(direct, pages.at(), pages.bytes());
        state.store(1);
        for (int i = 0; i < 20; ++i) std::this_thread::yield();
        const pid_t child = ::fork();
        if (child == 0) {
            // The child must not see the writer's changes in the parent.
            const std::uint64_t first = words[0].load();
            for (int i = 0; i < 50; ++i) {
                ::sched_yield();
                if (words[0].load() != first) ::_exit(1);
            }
            for (std::size_t i = 0; i < count; ++i) words[i].store(~std::uint64_t{0});
            ::_exit(0);
        }
        ASSERT_EQ(status_of(child), 0) << "round " << round;
        ASSERT_FALSE(is_shared(pages.at()));
    }
    state.store(2);
    writer.join();
    EXPECT_EQ(lost.load(), 0U);
}

TEST_F(Adopted, ACallInFlightDuringAForkGivesTheRightResult) {
    DirectMemory direct(own_peer());
    const Pages pages(32);
    fill(pages.at(), pages.bytes(), 1);
    adopt(direct, pages.at(), pages.bytes());
    // The buffer ends within a page; the rest of the page belongs to the program.
    std::byte* const data = pages.at() + 5;
    const std::size_t bytes = 20 * kPage + 100;
    const auto exposure = direct.expose(data, bytes, Access::write);
    std::byte* const seen = direct.map(0, exposure.reach);
    std::memset(seen, 0x11, 10 * kPage);
    const pid_t child = ::fork();
    if (child == 0) {
        fill(pages.at(), pages.bytes(), 9);
        ::_exit(0);
    }
    ASSERT_EQ(status_of(child), 0);
    data[bytes] = std::byte{0xcc};  // the program writes beside its buffer
    pages.at()[0] = std::byte{0xcd};
    std::memset(seen + 10 * kPage, 0x22, bytes - 10 * kPage);  // a peer continues
    exposure.alias[kPage] = std::byte{0x33};                   // the owner, too
    EXPECT_TRUE(is_shared(pages.at() + kPage)) << "the range became private during the call";
    direct.unexpose(exposure);
    EXPECT_EQ(pages.at()[0], std::byte{0xcd});
    EXPECT_EQ(data[bytes], std::byte{0xcc});
    EXPECT_EQ(pages.at()[1], pattern(1, 1));
    EXPECT_EQ(pages.at()[25 * kPage], pattern(25 * kPage, 1));
    for (std::size_t i = 0; i < bytes; ++i) {
        const unsigned char expected = i == kPage ? 0x33 : i < 10 * kPage ? 0x11 : 0x22;
        ASSERT_EQ(data[i], std::byte{expected}) << "byte " << i;
    }
}

TEST_F(Adopted, ProcessesStartedWithoutAForkChangeNothing) {
    DirectMemory direct(own_peer());
    const Pages pages(32);
    fill(pages.at(), pages.bytes(), 1);
    adopt(direct, pages.at(), pages.bytes());
    EXPECT_EQ(std::system("true"), 0);
    const char* arguments[] = {"true", nullptr};
    pid_t child = 0;
    ASSERT_EQ(
        ::posix_spawnp(&child, "true", nullptr, nullptr, const_cast<char**>(arguments), environ),
        0);
    EXPECT_EQ(status_of(child), 0);
    child = ::vfork();
    if (child == 0) {
        ::execlp("true", "true", nullptr);
        ::_exit(1);
    }
    EXPECT_EQ(status_of(child), 0);
    EXPECT_TRUE(is_shared(pages.at())) << "became private without a fork";
    EXPECT_EQ(matching(pages.at(), pages.bytes(), 1), pages.bytes());
}

TEST_F(Adopted, AnExitingChildDoesNotChangeItsParentsMemory) {
    auto direct = std::make_unique<DirectMemory>(own_peer());
    const Pages pages(32);
    fill(pages.at(), pages.bytes(), 1);
    const auto exposure = direct->expose(pages.at(), pages.bytes(), Access::read);
    std::byte* const seen = direct->map(0, exposure.reach);
    const pid_t child = ::fork();
    if (child == 0) {
        direct.reset();  // as destructors of static objects do
        ::_exit(matching(pages.at(), pages.bytes(), 1) == pages.bytes() ? 0 : 1);
    }
    EXPECT_EQ(status_of(child), 0);
    EXPECT_EQ(matching(seen, pages.bytes(), 1), pages.bytes());
    direct->unexpose(exposure);
    EXPECT_EQ(matching(pages.at(), pages.bytes(), 1), pages.bytes());
}

}  // namespace
}  // namespace weft::link::testing
