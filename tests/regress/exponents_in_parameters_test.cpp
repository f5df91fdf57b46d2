// SPDX-License-Identifier: BSD-3-Clause
// Bug: `weft fit` wrote a cost of 0.000083 ns a byte as JSON has it, 8.3e-05, and no command read
// the file then: "is not a number of nanoseconds". Method: numbers with exponents, and what is
// none. On the code before, all are refused.
#include <gtest/gtest.h>

#include "plan/simulate/duration.hpp"

namespace weft::plan {
namespace {

TEST(ExponentsInParameters, AreReadAsJsonHasThem) {
    EXPECT_EQ(*parse_nanoseconds_per_byte("8.3e-05"), 83);
    EXPECT_EQ(*parse_nanoseconds_per_byte("1e-6"), 1);
    EXPECT_EQ(*parse_nanoseconds_per_byte("1.25E+1"), 12'500'000);
    EXPECT_EQ(*parse_nanoseconds("2e3"), 2'000'000);
    EXPECT_EQ(*parse_nanoseconds("0.5e0"), 500);
    EXPECT_EQ(*parse_nanoseconds("0e-20"), 0);
}

TEST(ExponentsInParameters, OthersAreRefused) {
    for (const char* text : {"8.3e", "e5", ".e5", "1e+-5", "1e5.0", "1e2e3", "1.2.3e1", "-1e2",
                             "1e99", "1e20", "1e-5"})
        EXPECT_FALSE(parse_nanoseconds(text).ok()) << text;
    EXPECT_FALSE(parse_nanoseconds_per_byte("8.33e-05").ok()) << "seven digits";
}

}  // namespace
}  // namespace weft::plan
