// SPDX-License-Identifier: BSD-3-Clause
// Goal: handlers of forks and of signals may do what they may do beside private memory, whatever
// the thread was just doing with memory that is adopted. Method: handlers that fork and that free
// pages, in a child, so that one that waits for itself is ended by an alarm.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

#include "tests/support/full_mode.hpp"
#include "tests/unit/direct/own_mate.hpp"

namespace weft::link {
namespace {

using base::Access;
using base::Way;
using testing::Adopted;
using testing::differs;
using testing::fill;
using testing::is_shared;
using testing::kPage;
using testing::own_mate;
using testing::Pages;

/// The work of a handler of forks that was registered before the library's: it runs after that one.
void (*before_a_fork)() = nullptr;
[[gnu::constructor]] void register_handler() {
    ::pthread_atfork(
        [] {
            if (before_a_fork != nullptr) before_a_fork();
        },
        nullptr, nullptr);
}

const Pages* advised = nullptr;

void free_a_page_and_fork() {
    before_a_fork = nullptr;
    ::madvise(advised->at() + kPage, kPage, MADV_DONTNEED);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(advised->at()[2 * kPage] == testing::pattern(2 * kPage, 1) ? 0 : 1);
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "the child of a handler";
}

TEST_F(Adopted, AHandlerOfForksMayFreePagesAndFork) {
    testing::in_child([] {
        ::alarm(10);
        DirectMemory direct(own_mate());
        const Pages pages(16);
        fill(pages.at(), pages.bytes(), 1);
        adopt(direct, pages.at(), pages.bytes());
        advised = &pages;
        before_a_fork = &free_a_page_and_fork;
        const pid_t child = ::fork();
        const bool cleared = pages.at()[kPage] == std::byte{0};
        const bool kept = pages.at()[2 * kPage] == testing::pattern(2 * kPage, 1);
        if (child == 0) ::_exit(cleared && kept ? 0 : 1);
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0) << "the child";
        EXPECT_TRUE(cleared && kept);
        // And the lock is free again, for this thread and for others.
        fill(pages.at(), pages.bytes(), 2);
        adopt(direct, pages.at(), pages.bytes());
        EXPECT_EQ(differs(pages.at(), pages.bytes(), 2), pages.bytes());
    });
}

volatile sig_atomic_t forks = 0;
volatile sig_atomic_t wrong = 0;

/// The child compares its memory, and writes it: its parent must not see that.
void fork_in_a_signal_handler(int /*signal*/) {
    const pid_t child = ::fork();
    if (child == 0) {
        const bool right = differs(advised->at(), advised->bytes(), 1) == advised->bytes();
        std::memset(advised->at(), 0xee, advised->bytes());
        ::_exit(right ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    forks = forks + 1;
    if (status != 0) wrong = wrong + 1;
}

TEST_F(Adopted, ASignalHandlerMayForkAtAnyMoment) {
    if (test::kSanitized) GTEST_SKIP() << "a sanitizer's fork is not for signal handlers";
    testing::in_child([] {
        ::alarm(20);
        DirectMemory direct(own_mate());
        const Pages pages(64);
        advised = &pages;
        fill(pages.at(), pages.bytes(), 1);
        ::signal(SIGPROF, &fork_in_a_signal_handler);
        const itimerval each{{0, 2000}, {0, 2000}};
        ::setitimer(ITIMER_PROF, &each, nullptr);
        while (forks < 60) direct.conceal(direct.expose(pages.at(), pages.bytes(), Access::write));
        const itimerval none{};
        ::setitimer(ITIMER_PROF, &none, nullptr);
        EXPECT_EQ(wrong, 0);
        EXPECT_EQ(differs(pages.at(), pages.bytes(), 1), pages.bytes());
        EXPECT_GT(direct.adoption_counters().adoptions, 2U) << "never remapped again";
    });
}

TEST_F(Adopted, AChildHasItsMemoryAlsoWhereNoFileCanBeOpened) {
    testing::in_child([] {
        DirectMemory direct(own_mate());
        const Pages pages(16);
        fill(pages.at(), pages.bytes(), 1);
        adopt(direct, pages.at(), pages.bytes());
        const rlimit none{0, 0};
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            const bool right = differs(pages.at(), pages.bytes(), 1) == pages.bytes();
            fill(pages.at(), pages.bytes(), 2);
            ::_exit(right ? 0 : 1);
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
        EXPECT_EQ(differs(pages.at(), pages.bytes(), 1), pages.bytes());
    });
}

}  // namespace
}  // namespace weft::link
