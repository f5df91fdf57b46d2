// SPDX-License-Identifier: BSD-3-Clause
// Goal: %h and %r in the name of a log file become host and rank.
// tests/system/ranks/log_test.cpp checks which rank writes which lines.
#include "base/log.hpp"

#include <gtest/gtest.h>

namespace weft::base {
namespace {

TEST(Log, OnlyHostRankAndDoublePercentAreReplacedInFileNames) {
    EXPECT_EQ(log_file_name("plain", 3, "here"), "plain");
    EXPECT_EQ(log_file_name("/tmp/%h/log.%r", 12, "here"), "/tmp/here/log.12");
    EXPECT_EQ(log_file_name("%r%r%%r%x%", 1, "here"), "11%r%x%");
}

}  // namespace
}  // namespace weft::base
