// SPDX-License-Identifier: BSD-3-Clause
// Goal: each fault of waits, raises and slots is found, and the message names rank, step and reason.
// Method: small sets of programs written out as text, each sound but for one thing.
#include <gtest/gtest.h>

#include "plan/schedule/builder.hpp"
#include "tests/unit/plan/faults.hpp"

namespace weft::plan {
namespace {

// --- waits and raises ---------------------------------------------------------------------------

TEST(VerifyFaults, ReadingASlotBeforeItsWait) {
    EXPECT_EQ(error_of(R"(
rank 0
  put to 1 slot 0 from input
rank 1
  copy output = slot 0
  wait from 0 slot 0
)"),
              "rank 1 step 0 (copy output[0+1] = slot 0[0+1]) reads slot 0 of rank 1, segment 0, "
              "without having awaited it");
}

TEST(VerifyFaults, AWaitThatNothingAnswersIsADeadlock) {
    EXPECT_EQ(error_of(R"(
rank 0
  wait from 1 slot 0
  signal to 1 slot 0
rank 1
  wait from 0 slot 0
  signal to 0 slot 0
)"),
              "rank 0 step 0 (wait from 1 slot 0) waits for ever: what it waits for is not raised; "
              "meanwhile rank 1 step 0 (wait from 0 slot 0) waits too");
    EXPECT_EQ(error_of(R"(
rank 0
  wait from 1 slot 0
rank 1
  local
)"),
              "rank 0 step 0 (wait from 1 slot 0) waits for ever: what it waits for is not raised; "
              "rank 1 has ended");
}

TEST(VerifyFaults, ARaiseThatNobodyAwaits) {
    EXPECT_EQ(error_of(R"(
rank 0
  put to 1 slot 2 from input
rank 1
  local
)"),
              "rank 0 step 0 raises slot 2 of rank 1, which nobody awaits");
    EXPECT_EQ(error_of(R"(
rank 0
  publish slot 1 from input
)"),
              "rank 0 step 0 publishes slot 1, which nobody awaits");
}

TEST(VerifyFaults, CreditsBeyondTheLastWait) {
    EXPECT_EQ(error_of(R"(
segments 4
depth 2
units 4
rank 0
  loop
    wait from 1 slot 1 lag 2
    put to 1 slot 0 from input[0 advance 1]
  end
rank 1
  loop
    wait from 0 slot 0
    copy output[0 advance 1] = slot 0[0 advance 1]
    signal to 0 slot 1
  end
)"),
              "rank 1 step 3 segment 2 raises slot 1 (segment 2) of rank 0, which nobody awaits");
}

TEST(VerifyFaults, RaisingAFlagTwice) {
    EXPECT_EQ(error_of(R"(
rank 0
  signal to 1 slot 0
  signal to 1 slot 0
rank 1
  wait from 0 slot 0
  wait from 0 slot 0
)"),
              "rank 0 step 1 (signal to 1 slot 0) raises slot 0 of rank 1 a second time: rank 0 "
              "step 0 did so before");
}

TEST(VerifyFaults, AwaitingAFlagTwice) {
    EXPECT_EQ(
        error_of(R"(
rank 0
  signal to 1 slot 0
rank 1
  wait from 0 slot 0
  wait from 0 slot 0
)"),
        "rank 1 step 1 (wait from 0 slot 0) awaits slot 0 again: rank 1 step 0 did so before");
}

TEST(VerifyFaults, AwaitingTheWrongSender) {
    EXPECT_EQ(error_of(R"(
rank 0
  signal to 2 slot 0
rank 1
  local
rank 2
  wait from 1 slot 0
)"),
              "rank 2 step 0 (wait from 1 slot 0) awaits slot 0 from rank 1, but it is rank 0 step "
              "0 that raises it");
}

// --- slots --------------------------------------------------------------------------------------

TEST(VerifyFaults, ASlotCopyOverwrittenBeforeItIsRead) {
    EXPECT_EQ(error_of(R"(
segments 5
depth 2
units 5
rank 0
  loop
    put to 1 slot 0 from input[0 advance 1]
  end
rank 1
  loop
    wait from 0 slot 0
    copy output[0 advance 1] = slot 0[0 advance 1]
  end
)"),
              "rank 0 step 1 segment 2 (put to 1 slot 0 from input[0+1 advance 1]) overwrites slot "
              "0 (segment 0) of rank 1 before rank 1 is known to have awaited what rank 0 step 1 "
              "segment 0 put there");
}

TEST(VerifyFaults, ACreditThatIsGivenBeforeTheRead) {
    EXPECT_EQ(error_of(R"(
segments 3
units 3
rank 0
  loop
    wait from 1 slot 1 lag 1
    put to 1 slot 0 from input[0 advance 1]
  end
rank 1
  loop
    wait from 0 slot 0
    signal to 0 slot 1 lag 1
    copy output[0 advance 1] = slot 0[0 advance 1]
  end
)"),
              "rank 0 step 2 segment 1 (put to 1 slot 0 from input[0+1 advance 1]) overwrites slot "
              "0 (segment 0) of rank 1 while rank 1 step 3 segment 0 may be reading it");
}

TEST(VerifyFaults, ASlotForwardedButNotLocallyComplete) {
    const std::string_view text = R"(
segments 3
units 3
rank 0
  loop
    wait from 1 slot 1 lag 1
    put to 1 slot 0 from input[0 advance 1]
  end
rank 1
  loop
    wait from 0 slot 0
    wait from 2 slot 1 lag 1
    put to 2 slot 0 from slot 0[0 advance 1]
    LOCAL
    signal to 0 slot 1 lag 1
  end
rank 2
  loop
    wait from 1 slot 0
    copy output[0 advance 1] = slot 0[0 advance 1]
    signal to 1 slot 1 lag 1
  end
)";
    std::string good(text);
    good.replace(good.find("LOCAL"), 5, "local");
    EXPECT_EQ(error_of(good), "");
    std::string bad(text);
    bad.erase(bad.find("LOCAL"), 5);
    EXPECT_EQ(error_of(bad),
              "rank 0 step 2 segment 1 (put to 1 slot 0 from input[0+1 advance 1]) overwrites slot "
              "0 (segment 0) of rank 1 while rank 1 step 3 segment 0 may be reading it");
}

TEST(VerifyFaults, TwoWritersOfOneSlot) {
    EXPECT_EQ(error_of(R"(
rank 0
  put to 2 slot 0 from input
rank 1
  put to 2 slot 0 from input
rank 2
  wait from 0 slot 0
  wait from 1 slot 0
)"),
              "rank 1 step 0 (put to 2 slot 0 from input[0+1]) raises slot 0 of rank 2 a second "
              "time: rank 0 step 0 did so before");
}

TEST(VerifyFaults, UnitsOfDifferentSizesMixedUp) {
    const std::string_view text = R"(
units 4
rank 0
  put to 1 slot 0 from input[1+2]
rank 1
  wait from 0 slot 0
  copy output[1] = slot 0[1]
  copy output[2] = slot 0[2]
)";
    // Behind its own origin, unit 2 would be read from the place of unit 1.
    EXPECT_EQ(error_of(text, 6),
              "rank 1 step 2 (copy output[2+1] = slot 0[2+1]) names a unit of 1 elements where the "
              "payload of rank 0 step 0 has none such");
    EXPECT_EQ(error_of(R"(
units 4
rank 0
  put to 1 slot 0 from input[1]
rank 1
  wait from 0 slot 0
  copy output[0] = slot 0[1]
)",
                       6),
              "rank 1 step 1 (copy output[0+1] = slot 0[1+1]) combines units of 1 and 2 elements");
    EXPECT_EQ(error_of(R"(
units 2
rank 0
  put to 1 slot 0 from input[0]
rank 1
  wait from 0 slot 0
  copy output = slot 0
)"),
              "rank 1 step 1 (copy output[0+2] = slot 0[0+2]) names a unit of 30 elements where "
              "the payload of rank 0 step 0 has none such");
}

TEST(VerifyFaults, SharedPutsWithDifferentPayloads) {
    EXPECT_EQ(error_of(R"(
units 2
rank 0
  put to 1 slot 0 from input[0] shared
  put to 2 slot 0 from input[1] shared
rank 1
  wait from 0 slot 0 shared
rank 2
  wait from 0 slot 0 shared
)"),
              "rank 0 step 1 (put to 2 slot 0 from input[1+1] shared) shares slot 0 with another "
              "payload than its earlier put has");
    EXPECT_EQ(error_of(R"(
rank 0
  put to 1 slot 0 from input shared
rank 1
  wait from 0 slot 0
)"),
              "rank 1 step 0 (wait from 0 slot 0) is not marked shared, but rank 0 step 0 is");
}

TEST(VerifyFaults, ASharedPayloadReplacedBeforeAllReadersAreDone) {
    // Rank 1 gives a credit; rank 2 may still read segment 0 in the sender's published cell.
    EXPECT_EQ(error_of(R"(
segments 2
units 2
rank 0
  loop
    wait from 1 slot 1 lag 1
    put to 1 slot 0 from input[0 advance 1] shared
    wait from 2 slot 2 lag 1
    put to 2 slot 0 from input[0 advance 1] shared
  end
rank 1
  loop
    wait from 0 slot 0 shared
    copy output[0 advance 1] = slot 0[0 advance 1]
    signal to 0 slot 1 lag 1
  end
rank 2
  loop
    wait from 0 slot 0 shared
    copy output[0 advance 1] = slot 0[0 advance 1]
    signal to 0 slot 2 lag 1
  end
)"),
              "rank 0 step 2 segment 1 (put to 1 slot 0 from input[0+1 advance 1] shared) "
              "overwrites published slot 0 (segment 0) of rank 0 while rank 2 step 2 segment 0 may "
              "be reading it");
}

}  // namespace
}  // namespace weft::plan
