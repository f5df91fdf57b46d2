// SPDX-License-Identifier: BSD-3-Clause
// Goal: the clock counts nanoseconds and never decreases.
// Method: the test reads the system's monotonic clock before and after each read of this clock.
#include "base/clock.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace weft::base {
namespace {

std::uint64_t reference_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

TEST(Clock, AgreesWithTheSystemsMonotonicClock) {
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t before = reference_ns();
        const std::uint64_t ours = monotonic_ns();
        const std::uint64_t after = reference_ns();
        EXPECT_LE(before, ours);
        EXPECT_LE(ours, after);
    }
}

}  // namespace
}  // namespace weft::base
