// SPDX-License-Identifier: BSD-3-Clause
// Goal: large pages are tried while the kernel makes them quickly. Method: the test reports
// invented attempts: whether the kernel made the page, and the time that this took.
#include <gtest/gtest.h>

#include "link/direct/remapped_range.hpp"

namespace weft::link {
namespace {

TEST(LargePages, EachSlowOrFailedAttemptDoublesThePause) {
    using std::chrono::milliseconds;
    LargePages large;
    if (!large.expected()) GTEST_SKIP() << "large pages are switched off on this system";
    // Returns the number of large pages that are left out until one is tried again.
    const auto skipped = [&] {
        int times = 0;
        while (!large.worth_trying()) ++times;
        return times;
    };
    large.tried(true, milliseconds(0));
    EXPECT_EQ(skipped(), 0);
    large.tried(true, milliseconds(5));
    EXPECT_FALSE(large.expected());
    const int first = skipped();
    EXPECT_GT(first, 0);
    large.tried(false, milliseconds(0));
    EXPECT_EQ(skipped(), 2 * first);
    large.tried(true, milliseconds(0));
    large.tried(false, milliseconds(0));
    EXPECT_EQ(skipped(), first);
}

}  // namespace
}  // namespace weft::link
