// SPDX-License-Identifier: BSD-3-Clause
// Bug: `weft fit` wrote a cost of 0.000083 ns a byte as 8.3e-05, and no command could read the
// file: "is not a number of nanoseconds". Method: costs of different sizes are rounded, written and
// read.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/units.hpp"
#include "tools/lab/cost/parameters.hpp"

namespace weft::lab {
namespace {

TEST(SmallCostsInParameters, SmallCostsAreReadBack) {
    EXPECT_FALSE(base::parse_nanoseconds_per_byte(fmt::format("{}", 8.3e-05)).ok());
    for (const double cost :
         {-0.5, -1e-9, 0.0, 1e-9, 8.3e-05, 9.96e-05, 1e-4, 0.000123, 0.0456789123, 0.73, 12.5}) {
        const double kept = parseable_nanoseconds_per_byte(cost);
        EXPECT_NEAR(kept, cost < 0 ? 0 : cost, 1e-4);
        const auto read = base::parse_nanoseconds_per_byte(fmt::format("{}", kept));
        ASSERT_TRUE(read.ok()) << cost;
        EXPECT_NEAR(static_cast<double>(*read), kept * 1e6, 0.5) << cost;
    }
}

}  // namespace
}  // namespace weft::lab
