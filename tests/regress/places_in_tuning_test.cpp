// SPDX-License-Identifier: BSD-3-Clause
// Bug: a tuning file whose choices are an object, not a list, had its keys taken for places in a
// list: one that is no number ended the process by an exception, a large one asked for as much
// memory, and 2^64 - 1 wrote out of bounds. Found when the reader was looked at for its fuzzer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/runtime/measured_files.hpp"

namespace weft::test {
namespace {

TEST(PlacesInTuning, KeysOfAnObjectAreNone) {
    for (const char* const key :
         {"ring", "", "-1", "4000000000", "18446744073709551615", "99999999999999999999999"}) {
        const std::string text = fmt::format(
            R"({{"schema": "weft-tuning-1", "choices": {{"{}": {{"algorithm": "ring"}}}}}})", key);
        const auto tuning = run::parse_tuning(text, "file.json");
        ASSERT_FALSE(tuning.ok()) << key;
        EXPECT_NE(tuning.failure().text.find("is no place in a list"), std::string::npos)
            << tuning.failure().text;
    }
}

/// A key below the length of the text made as many choices, each larger than its key is long.
TEST(PlacesInTuning, ThereAreNoMoreThanValues) {
    const std::string text = fmt::format(
        R"({{"schema": "weft-tuning-1", "choices": {{"900000": {{"algorithm": "ring"}}}}{}}})",
        std::string(1 << 20, ' '));
    const auto tuning = run::parse_tuning(text, "file.json");
    ASSERT_FALSE(tuning.ok());
    EXPECT_EQ(tuning.failure().text, "choices: '900000' is no place in a list");
}

/// Each value of a list below a long key had a copy of it.
TEST(PlacesInTuning, LongKeysAreRefused) {
    const std::string text =
        fmt::format(R"({{"{}": [1, 2, 3], "schema": "weft-tuning-1"}})", std::string(1 << 20, 'k'));
    EXPECT_FALSE(run::parse_tuning(text, "file.json").ok());
}

}  // namespace
}  // namespace weft::test
