// SPDX-License-Identifier: BSD-3-Clause
// Goal: WEFT_TRY uses the value of a result, and returns its failure from the function.
#include "base/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace weft::base {
namespace {

Result<std::unique_ptr<int>> half(int number) {
    if (number % 2 != 0) return fail(Status::argument, "{} is odd", number);
    return std::make_unique<int>(number / 2);
}

Result<void> check(int number) {
    if (number < 0) return fail(Status::memory, "{} is negative", number);
    return {};
}

/// Adds the number of statements that ran after a WEFT_TRY to `steps`.
Result<int> quarter(int number, int& steps) {
    WEFT_TRY(check(number));
    ++steps;
    const std::unique_ptr<int> first = WEFT_TRY(half(number));
    ++steps;
    return *WEFT_TRY(half(*first));
}

TEST(Result, TryTakesValuesAndReturnsFailures) {
    int steps = 0;
    EXPECT_EQ(*quarter(12, steps), 3);
    EXPECT_EQ(steps, 2);
    const auto negative = quarter(-4, steps);
    ASSERT_FALSE(negative.ok());
    EXPECT_EQ(negative.failure().status, Status::memory);
    EXPECT_EQ(negative.failure().text, "-4 is negative");
    EXPECT_EQ(steps, 2);
    EXPECT_EQ(quarter(5, steps).failure().text, "5 is odd");
    EXPECT_EQ(steps, 3);
    EXPECT_EQ(quarter(6, steps).failure().text, "3 is odd");
    EXPECT_EQ(steps, 5);
}

}  // namespace
}  // namespace weft::base
