// SPDX-License-Identifier: BSD-3-Clause
// Goal: the ping-pong measurement returns a plausible time, restores the process's affinity, and
// reports the reason if it cannot run.
// Method: tests measure on two processors, with one permitted processor, and on a processor that
// does not exist.
#include "tools/measure/ping_pong.hpp"

#include <gtest/gtest.h>
#include <sched.h>

namespace weft::lab {
namespace {

cpu_set_t affinity() {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    return set;
}

/// Parameter: true if each process writes a word of its own, false if both write one word.
class PingPongWords : public testing::TestWithParam<bool> {};

TEST_P(PingPongWords, TheTimeIsPlausibleAndTheAffinityIsKept) {
    const cpu_set_t before = affinity();
    if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one usable processor";
    const auto result = measure_ping_pong({.seconds = 0.01, .two_words = GetParam()});
    ASSERT_TRUE(result.ok()) << result.failure().text;
    EXPECT_GT(result->min_ns, 1.0) << "no message between two cores is that fast";
    EXPECT_LT(result->min_ns, 1e6);
    EXPECT_LE(result->min_ns, result->median_ns);
    EXPECT_NE(result->first_processor, result->second_processor);
    const cpu_set_t after = affinity();
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

INSTANTIATE_TEST_SUITE_P(PingPong, PingPongWords, testing::Bool(),
                         [](const auto& chosen) { return chosen.param ? "TwoWords" : "OneWord"; });

TEST(PingPong, OneProcessorIsRefused) {
    const cpu_set_t before = affinity();
    cpu_set_t one;
    CPU_ZERO(&one);
    for (unsigned i = 0; CPU_COUNT(&one) == 0; ++i)
        if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const auto result = measure_ping_pong({.seconds = 0.01});
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.failure().status, Status::environment);
    EXPECT_NE(result.failure().text.find("two processors"), std::string::npos);
}

TEST(PingPong, AProcessorThatDoesNotExistIsReported) {
    const auto result =
        measure_ping_pong({.seconds = 0.01, .first_processor = 0, .second_processor = 1000});
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.failure().text.find("0 and 1000"), std::string::npos);
}

}  // namespace
}  // namespace weft::lab
