// SPDX-License-Identifier: BSD-3-Clause
// Bug: a name that begins with `#` was accepted directly after its keyword (`collective#x`), but
// printed after a space, which makes the name a comment. The fuzzer of program texts found this.
#include <gtest/gtest.h>

#include "tools/text/text.hpp"

namespace weft::plan {
namespace {

TEST(LabelsInText, ANameThatStartsWithAHashIsRefused) {
    for (const char* word : {"collective", "algorithm"}) {
        const auto refused = parse_programs(std::string(word) + "#x\nrank 0\n");
        ASSERT_FALSE(refused.ok());
        EXPECT_NE(refused.failure().text.find("expected a name"), std::string::npos)
            << refused.failure().text;
    }
}

TEST(LabelsInText, AHashWithinANameIsKept) {
    const auto programs = parse_programs("collective a#x\nrank 0\n");
    ASSERT_TRUE(programs.ok()) << programs.failure().text;
    EXPECT_EQ(programs->front().collective, "a#x");
    EXPECT_EQ(*parse_programs(to_text(*programs)), *programs);
}

}  // namespace
}  // namespace weft::plan
