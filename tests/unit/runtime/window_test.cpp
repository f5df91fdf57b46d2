// SPDX-License-Identifier: BSD-3-Clause
// Goal: a window knows which calls are complete on this rank.
// Method: six calls share four banks, and complete out of order. Calls 1 and 5 use one bank.
#include "run/execute/window.hpp"

#include <gtest/gtest.h>

namespace weft::run {
namespace {

TEST(Window, AQueuedCallIsIncompleteAlthoughItsBankHasACompleteCall) {
    Window window(4);
    for (int call = 0; call < 6; ++call) window.issue(/*synchronizing=*/true);
    window.complete(1, /*synchronizing=*/true);
    EXPECT_TRUE(window.is_complete(1));
    for (const Epoch call : {0, 2, 3, 4, 5}) EXPECT_FALSE(window.is_complete(call)) << call;
    window.complete(0, /*synchronizing=*/true);
    EXPECT_EQ(window.first_incomplete(), 2);
    EXPECT_TRUE(window.is_complete(1));
}

}  // namespace
}  // namespace weft::run
