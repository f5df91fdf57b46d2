// SPDX-License-Identifier: BSD-3-Clause
// Goal: large pages are tried while the kernel makes them quickly. Method: given times.
#include "link/direct/large_pages.hpp"

#include <gtest/gtest.h>

namespace weft::link {
namespace {

TEST(LargePages, LargePagesAreAvoidedForAWhileAfterASlowOne) {
    using std::chrono::milliseconds;
    LargePages large;
    if (!large.expected()) GTEST_SKIP() << "large pages are switched off on this system";
    const auto left_out = [&] {
        int times = 0;
        while (!large.worth_trying()) ++times;
        return times;
    };
    large.tried(true, milliseconds(0));
    EXPECT_EQ(left_out(), 0);
    large.tried(true, milliseconds(5));
    EXPECT_FALSE(large.expected());
    const int first = left_out();
    EXPECT_GT(first, 0);
    large.tried(false, milliseconds(0));
    EXPECT_EQ(left_out(), 2 * first);
    large.tried(true, milliseconds(0));
    large.tried(false, milliseconds(0));
    EXPECT_EQ(left_out(), first);
}

}  // namespace
}  // namespace weft::link
