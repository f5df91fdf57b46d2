// SPDX-License-Identifier: BSD-3-Clause
// Bug: the text of a disagreement named the call before the one that a peer asks about, also where
// there can be none before: the lowest number overflowed. Ranks look no such call up, so no text
// with it was ever printed. Method: the text about the lowest numbers. On the code before, it names
// the highest number there is.
#include <gtest/gtest.h>

#include <limits>

#include "run/execute/watchdog.hpp"

namespace weft::run {
namespace {

TEST(NumbersOfInquiries, TheCallBeforeTheFirstIsNotNamed) {
    for (const std::int64_t epoch : {std::numeric_limits<std::int64_t>::min(), std::int64_t{0}}) {
        Inquiry mine;
        mine.epoch = epoch;
        Inquiry theirs = mine;
        theirs.hash_before = 1;
        const std::string text = disagreement_text(theirs, mine, {.asked = epoch, .before = 1});
        EXPECT_NE(text.find(fmt::format("call {} of team", epoch)), std::string::npos) << text;
    }
    Inquiry mine;
    mine.epoch = 7;
    Inquiry theirs = mine;
    theirs.hash_before = 1;
    EXPECT_NE(disagreement_text(theirs, mine, {.asked = 7, .before = 6}).find("call 6 of team"),
              std::string::npos);
}

}  // namespace
}  // namespace weft::run
