// SPDX-License-Identifier: BSD-3-Clause
// Bug: `weft fit` wrote a cost of 0.000083 ns a byte as 8.3e-05, and no command could read the
// file: "is not a number of nanoseconds". A cost of 0.000649 in a JSON file was refused, because
// the JSON library prints it as 0.0006489999999999999. Method: costs of different sizes are
// rounded, written and read, also in JSON.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/units.hpp"
#include "run/job/measured_files.hpp"
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

TEST(SmallCostsInParameters, JsonCostsWithSixDigitsAreRead) {
    for (int millionths = 100; millionths < 100'000; millionths += 3) {
        const auto text = fmt::format(
            R"({{"schema": "weft-parameters-1", "parameters": {{"cold_ns_per_byte": {:.6f}}}}})",
            millionths * 1e-6);
        const auto costs = run::parse_costs(text);
        ASSERT_TRUE(costs.ok()) << text << ": " << costs.failure().text;
    }
}

}  // namespace
}  // namespace weft::lab
