// SPDX-License-Identifier: BSD-3-Clause
// Bug: if a peer's inquiry was for the first call, the text of a disagreement named the call before
// the first, whose number overflowed to the largest number. Ranks never look up this call, so the
// text was never printed. Method: the test makes the text for the lowest numbers.
#include <gtest/gtest.h>

#include <limits>

#include "run/execute/watchdog.hpp"

namespace weft::run {
namespace {

TEST(NumbersOfInquiries, TheFirstCallHasNoPredecessor) {
    for (const std::int64_t epoch : {std::numeric_limits<std::int64_t>::min(), std::int64_t{0}}) {
        Inquiry mine;
        mine.epoch = epoch;
        Inquiry theirs = mine;
        theirs.hash_before = 1;
        const std::string text = disagreement_text(theirs, mine, epoch, 1);
        EXPECT_NE(text.find(fmt::format("call {} of team", epoch)), std::string::npos) << text;
    }
    Inquiry mine;
    mine.epoch = 7;
    Inquiry theirs = mine;
    theirs.hash_before = 1;
    EXPECT_NE(disagreement_text(theirs, mine, 7, 6).find("call 6 of team"), std::string::npos);
}

}  // namespace
}  // namespace weft::run
