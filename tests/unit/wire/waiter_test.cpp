// SPDX-License-Identifier: BSD-3-Clause
// Goal: a wait pauses between polls if earlier waits ended during pauses, and otherwise yields.
// Method: tests simulate waits that end after a given number of polls, or at the first yield.
#include "link/wire/waiter.hpp"

#include <gtest/gtest.h>

namespace weft::link {
namespace {

constexpr unsigned kPausesMax = 4096;

/// Waits for an event that occurs after `polls` failed polls. Returns the number of pauses.
unsigned wait_for(SpinLimit& limit, unsigned polls) {
    unsigned pauses = 0;
    for (unsigned failures = 1; failures <= polls; ++failures)
        pauses += limit.allows(failures) ? 1 : 0;
    return pauses;
}

/// Simulates a wait for a peer that shares this processor, so the wait ends at the first yield.
/// Returns the number of pauses.
unsigned wait_for_sharing_peer(SpinLimit& limit) {
    unsigned failures = 1;
    while (limit.allows(failures)) ++failures;
    return failures - 1;
}

TEST(SpinLimit, FirstWaitsPauseUpToTheMaximum) {
    SpinLimit limit(kPausesMax);
    EXPECT_EQ(wait_for(limit, 3 * kPausesMax), kPausesMax - 1);
}

TEST(SpinLimit, PausesStopIfYieldsEndTheWaits) {
    SpinLimit limit(kPausesMax);
    unsigned pauses = 0;
    for (int wait = 0; wait < 100; ++wait) pauses += wait_for_sharing_peer(limit);
    EXPECT_LT(pauses, 2 * kPausesMax);
    EXPECT_EQ(limit.usual(), 1U);
    EXPECT_EQ(wait_for_sharing_peer(limit), 0U);
}

TEST(SpinLimit, PausesAreTriedAgainPeriodically) {
    SpinLimit limit(kPausesMax);
    for (int wait = 0; wait < 100; ++wait) wait_for_sharing_peer(limit);
    unsigned trials = 0;
    for (unsigned wait = 0; wait < 10 * SpinLimit::kTrialEvery; ++wait)
        trials += wait_for_sharing_peer(limit) == kPausesMax - 1 ? 1 : 0;
    EXPECT_EQ(trials, 10U);
    EXPECT_EQ(limit.usual(), 1U);
}

TEST(SpinLimit, PausesResumeWhenTheyEndWaits) {
    SpinLimit limit(kPausesMax);
    for (int wait = 0; wait < 100; ++wait) wait_for_sharing_peer(limit);
    // A trial occurs within kTrialEvery waits; the wait after it shows that it ended in a pause.
    // 40: more than the limit 1, less than the full limit.
    for (unsigned wait = 0; wait <= SpinLimit::kTrialEvery + 1; ++wait) wait_for(limit, 40);
    EXPECT_EQ(limit.usual(), kPausesMax);
}

/// Simulates a wait that ends at its first yield, which takes `ns` nanoseconds. Returns the number
/// of pauses.
unsigned wait_with_yield(SpinLimit& limit, std::uint64_t ns) {
    const unsigned pauses = wait_for_sharing_peer(limit);
    limit.yielded(ns);
    return pauses;
}

TEST(SpinLimit, LongYieldsAreNotTakenForAPeerOnThisProcessor) {
    SpinLimit limit(kPausesMax);
    for (int wait = 0; wait < 100; ++wait) wait_with_yield(limit, SpinLimit::kForeignYieldNs);
    EXPECT_EQ(limit.usual(), kPausesMax);
    EXPECT_EQ(wait_with_yield(limit, 1000), SpinLimit::kOversubscribedFactor * kPausesMax - 1);
}

TEST(SpinLimit, ShortYieldsEndTheEffectOfALongYield) {
    SpinLimit limit(kPausesMax);
    wait_with_yield(limit, SpinLimit::kForeignYieldNs);
    // 100 further waits are enough to halve the limit to 1.
    for (unsigned wait = 0; wait < SpinLimit::kOversubscribedWaits + 100; ++wait)
        wait_with_yield(limit, 1000);
    EXPECT_EQ(limit.usual(), 1U);
    EXPECT_EQ(wait_with_yield(limit, 1000), 0U);
    wait_with_yield(limit, SpinLimit::kForeignYieldNs);  // another process has run again
    EXPECT_EQ(wait_with_yield(limit, 1000), SpinLimit::kOversubscribedFactor * kPausesMax - 1);
}

TEST(SpinLimit, LongWaitsDoNotChangeTheLimit) {
    SpinLimit limit(kPausesMax);
    for (int wait = 0; wait < 100; ++wait) wait_for(limit, 10 * kPausesMax);
    EXPECT_EQ(limit.usual(), kPausesMax);
}

}  // namespace
}  // namespace weft::link
