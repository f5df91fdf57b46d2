// SPDX-License-Identifier: BSD-3-Clause
// Bug: if the choices of a tuning file were an object instead of a list, its keys were used as
// indices of a list. A key that is not a number ended the process by an exception, a large key
// allocated memory for all lower indices, and 2^64 - 1 wrote out of bounds. A fuzzer found this.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/job/measured_files.hpp"

namespace weft::test {
namespace {

TEST(PlacesInTuning, KeysOfAnObjectAreNotListIndices) {
    for (const char* const key :
         {"ring", "", "-1", "4000000000", "18446744073709551615", "99999999999999999999999"}) {
        const std::string text = fmt::format(
            R"({{"schema": "weft-tuning-1", "choices": {{"{}": {{"algorithm": "ring"}}}}}})", key);
        const auto tuning = run::parse_tuning(text, "file.json");
        ASSERT_FALSE(tuning.ok()) << key;
        EXPECT_NE(tuning.failure().text.find("is not an index of the list"), std::string::npos)
            << tuning.failure().text;
    }
}

/// Before the fix, a key up to the length of the text was accepted and made as many choices.
TEST(PlacesInTuning, AnIndexBeyondTheValuesIsRefused) {
    const std::string text = fmt::format(
        R"({{"schema": "weft-tuning-1", "choices": {{"900000": {{"algorithm": "ring"}}}}{}}})",
        std::string(1 << 20, ' '));
    const auto tuning = run::parse_tuning(text, "file.json");
    ASSERT_FALSE(tuning.ok());
    EXPECT_EQ(tuning.failure().text, "choices: '900000' is not an index of the list");
}

/// Before the fix, each value of a list stored a copy of the list's key, so long keys were refused.
TEST(PlacesInTuning, LongKeysAreIgnored) {
    const std::string text =
        fmt::format(R"({{"{}": [1, 2, 3], "schema": "weft-tuning-1"}})", std::string(1 << 20, 'k'));
    EXPECT_TRUE(run::parse_tuning(text, "file.json").ok());
}

}  // namespace
}  // namespace weft::test
