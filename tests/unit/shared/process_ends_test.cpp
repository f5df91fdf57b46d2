// SPDX-License-Identifier: BSD-3-Clause
// Goal: the end of each watched process is reported once, and a stopped process has not ended.
// Method: child processes that wait for a signal are watched, stopped and killed.
#include "link/shared/process_ends.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

namespace weft::link {
namespace {

/// Starts a child that waits until the test kills it.
pid_t start_child() {
    const pid_t child = ::fork();
    if (child == 0) {
        while (true) ::pause();
    }
    return child;
}

std::optional<Rank> await_end(ProcessEnds& ends) {
    for (int i = 0; i < 10'000; ++i) {
        if (const auto rank = ends.next()) return rank;
        ::poll(nullptr, 0, 1);
    }
    return std::nullopt;
}

TEST(ProcessEnds, ReportsEachEndOnce) {
    ProcessEnds ends;
    EXPECT_EQ(ends.next(), std::nullopt);
    const pid_t children[] = {start_child(), start_child(), start_child()};
    for (Rank rank = 0; rank < 3; ++rank) ASSERT_TRUE(ends.watch(rank, children[rank]).ok());
    EXPECT_EQ(ends.next(), std::nullopt);
    ::kill(children[0], SIGSTOP);
    ::kill(children[1], SIGKILL);  // not reaped: its end is reported nevertheless
    EXPECT_EQ(await_end(ends), 1);
    EXPECT_EQ(ends.next(), std::nullopt);
    ::kill(children[2], SIGKILL);
    ::kill(children[0], SIGKILL);
    std::set<Rank> ended;
    for (int i = 0; i < 2; ++i) ended.insert(await_end(ends).value_or(-1));
    EXPECT_EQ(ended, (std::set<Rank>{0, 2}));
    EXPECT_EQ(ends.next(), std::nullopt);
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
}

/// A forked child holds the descriptors of the watched processes open.
TEST(ProcessEnds, ReportsAnEndOnceWhileAForkedChildLives) {
    ProcessEnds ends;
    const pid_t watched = start_child();
    ASSERT_TRUE(ends.watch(0, watched).ok());
    const pid_t holder = start_child();
    ::kill(watched, SIGKILL);
    EXPECT_EQ(await_end(ends), 0);
    EXPECT_EQ(ends.next(), std::nullopt);
    ::kill(holder, SIGKILL);
    for (const pid_t child : {watched, holder}) ::waitpid(child, nullptr, 0);
}

TEST(ProcessEnds, RefusesAProcessThatDoesNotExist) {
    const pid_t child = start_child();
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ProcessEnds ends;
    const auto watched = ends.watch(5, child);
    ASSERT_FALSE(watched.ok());
    EXPECT_NE(watched.failure().text.find("of rank 5"), std::string::npos);
}

}  // namespace
}  // namespace weft::link
