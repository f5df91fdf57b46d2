// SPDX-License-Identifier: BSD-3-Clause
// Goal: handlers of forks and signals may free pages of adopted memory and fork at any moment, as
// with private memory. Method: such handlers run in a child process; an alarm ends a deadlock.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/support/full_mode.hpp"
#include "tests/unit/direct/own_peer.hpp"

namespace weft::link::testing {
namespace {

/// Called before a fork, after the library's handler: such handlers run in reverse order of
/// registration, and this file registers its handler first.
void (*before_a_fork)() = nullptr;
[[gnu::constructor]] void register_handler() {
    ::pthread_atfork(
        [] {
            if (before_a_fork != nullptr) before_a_fork();
        },
        nullptr, nullptr);
}

const Pages* advised = nullptr;  ///< adopted memory that the handlers below read and change

void free_a_page_and_fork() {
    before_a_fork = nullptr;
    ::madvise(advised->at() + kPage, kPage, MADV_DONTNEED);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(advised->at()[2 * kPage] == pattern(2 * kPage, 1) ? 0 : 1);
    EXPECT_EQ(status_of(child), 0) << "in the child that the handler forked";
}

TEST_F(Adopted, AForkHandlerMayFreePagesAndFork) {
    in_child([] {
        ::alarm(10);
        DirectMemory direct(own_peer());
        const Pages pages(16);
        fill(pages.at(), pages.bytes(), 1);
        adopt(direct, pages.at(), pages.bytes());
        advised = &pages;
        before_a_fork = &free_a_page_and_fork;
        const pid_t child = ::fork();
        const bool cleared = pages.at()[kPage] == std::byte{0};
        const bool kept = pages.at()[2 * kPage] == pattern(2 * kPage, 1);
        if (child == 0) ::_exit(cleared && kept ? 0 : 1);
        EXPECT_EQ(status_of(child), 0) << "in the child";
        EXPECT_TRUE(cleared && kept);
        // The library's lock is free again.
        fill(pages.at(), pages.bytes(), 2);
        adopt(direct, pages.at(), pages.bytes());
        EXPECT_EQ(matching(pages.at(), pages.bytes(), 2), pages.bytes());
    });
}

std::atomic<bool> is_forked{false};
std::atomic<bool> child_is_slow{false};
/// After a fork, handlers run in order of registration, so these run before the library's.
[[maybe_unused]] const int kRegistered = ::pthread_atfork(
    nullptr, [] { is_forked = true; },
    [] {
        if (child_is_slow) ::usleep(20'000);
    });

TEST_F(Adopted, PagesAreKeptUntilAChildHasCopiedThem) {
    in_child([] {
        DirectMemory direct(own_peer());
        const Pages pages(64);
        fill(pages.at(), pages.bytes(), 1);
        adopt(direct, pages.at(), pages.bytes());
        const auto exposure = direct.expose(pages.at(), pages.bytes(), Access::read);
        is_forked = false;
        child_is_slow = true;
        std::thread other([&] {
            while (!is_forked) std::this_thread::yield();
            EXPECT_EQ(::madvise(pages.at() + 16 * kPage, 16 * kPage, MADV_DONTNEED), 0);
        });
        const pid_t child = ::fork();
        if (child == 0) ::_exit(matching(pages.at(), pages.bytes(), 1) == pages.bytes() ? 0 : 1);
        const int status = status_of(child);
        other.join();
        EXPECT_EQ(status, 0) << "the child lost pages";
        EXPECT_EQ(pages.at()[20 * kPage], std::byte{0});
        EXPECT_EQ(matching(pages.at(), 16 * kPage, 1), 16 * kPage);
        direct.unexpose(exposure);
    });
}

volatile sig_atomic_t forks = 0;
volatile sig_atomic_t wrong = 0;  ///< number of children with wrong contents

/// Forks a child that compares its memory, then writes to it. The parent must not see the writes.
void fork_in_a_signal_handler(int /*signal*/) {
    const pid_t child = ::fork();
    if (child == 0) {
        const bool right = matching(advised->at(), advised->bytes(), 1) == advised->bytes();
        std::memset(advised->at(), 0xee, advised->bytes());
        ::_exit(right ? 0 : 1);
    }
    if (status_of(child) != 0) wrong = wrong + 1;
    forks = forks + 1;
}

TEST_F(Adopted, ASignalHandlerMayForkAtAnyMoment) {
    if (test::kSanitized) GTEST_SKIP() << "a sanitizer's fork() is not safe in signal handlers";
    in_child([] {
        ::alarm(20);
        DirectMemory direct(own_peer());
        const Pages pages(64);
        advised = &pages;
        fill(pages.at(), pages.bytes(), 1);
        ::signal(SIGPROF, &fork_in_a_signal_handler);
        const itimerval each{{0, 2000}, {0, 2000}};
        ::setitimer(ITIMER_PROF, &each, nullptr);
        while (forks < 60) direct.unexpose(direct.expose(pages.at(), pages.bytes(), Access::write));
        const itimerval none{};
        ::setitimer(ITIMER_PROF, &none, nullptr);
        EXPECT_EQ(wrong, 0);
        EXPECT_EQ(matching(pages.at(), pages.bytes(), 1), pages.bytes());
        const auto before = direct.adoption_counters().adoptions;
        const pid_t child = ::fork();  // while no call uses the buffer
        if (child == 0) ::_exit(0);
        EXPECT_EQ(status_of(child), 0);
        adopt(direct, pages.at(), pages.bytes());
        EXPECT_EQ(direct.adoption_counters().adoptions, before + 1);
    });
}

/// Forks repeatedly in several threads. Each child must see its thread's last write before the
/// fork, but no write after it.
void fork_in_threads(int threads, int rounds) {
    in_child([&] {
        DirectMemory direct(own_peer());
        const Pages pages(16);
        const auto exposure = direct.expose(pages.at(), pages.bytes(), Access::read);
        ASSERT_TRUE(is_shared(pages.at()));
        child_is_slow = true;
        std::atomic<int> wrong_children{0};
        std::vector<std::thread> forkers;
        for (int thread = 0; thread < threads; ++thread)
            forkers.emplace_back([&, thread] {
                auto* const word = reinterpret_cast<std::atomic<int>*>(pages.at() + thread * 64);
                for (int round = 1; round <= rounds; ++round) {
                    *word = round;
                    const pid_t child = ::fork();
                    if (child == 0) ::_exit(*word == round ? 0 : 1);
                    *word = -round;
                    if (status_of(child) != 0) ++wrong_children;
                }
            });
        for (std::thread& forker : forkers) forker.join();
        EXPECT_EQ(wrong_children, 0);
        direct.unexpose(exposure);
    });
}

TEST_F(Adopted, ChildrenOfConcurrentForksSeeNoLaterWrites) {
    fork_in_threads(8, 10);
}

TEST_F(Adopted, ChildrenSeeNoLaterWritesIfNoFileCanBeOpened) {
    in_child([] {
        DirectMemory direct(own_peer());
        const Pages pages(16);
        fill(pages.at(), pages.bytes(), 1);
        adopt(direct, pages.at(), pages.bytes());
        const rlimit none{0, 0};
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
        child_is_slow = true;
        for (int round = 2; round < 5; ++round) {
            const pid_t child = ::fork();
            if (child == 0)
                ::_exit(matching(pages.at(), pages.bytes(), round - 1) == pages.bytes() ? 0 : 1);
            fill(pages.at(), pages.bytes(), round);
            EXPECT_EQ(status_of(child), 0) << "round " << round;
        }
    });
}

}  // namespace
}  // namespace weft::link::testing
