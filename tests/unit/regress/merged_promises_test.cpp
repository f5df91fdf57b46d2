// SPDX-License-Identifier: BSD-3-Clause
// Bug: the properties of an algorithm were a template whose argument was a reference to a constant
// in the algorithm's file. g++ 14, unlike g++ 12, exports such a template to the linker, which kept
// one instance for all files: the allreduce ring promised rank order, and some multi-object
// algorithms identical bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/notation/spec.hpp"
#include "collectives/registry.hpp"

namespace weft::collectives {
namespace {

/// Returns true if the properties depend on the algorithms that the spec names as parts.
bool has_properties_of_parts(const Algorithm& algorithm) {
    return algorithm.name == "hierarchical" || algorithm.name == "halving";
}

TEST(MergedPromises, ANameWithoutParametersHasThePropertiesOfItsFile) {
    std::size_t compared = 0;
    for (const Algorithm& algorithm : algorithms()) {
        if (has_properties_of_parts(algorithm)) continue;
        SCOPED_TRACE(fmt::format("{} {}", algorithm.collective, algorithm.name));
        const auto spec = parse_spec(algorithm.name);
        ASSERT_TRUE(spec.ok());
        const Properties promised = algorithm.properties_of(*spec);
        const Properties& written = algorithm.properties;
        EXPECT_EQ(promised.ordered, written.ordered);
        EXPECT_EQ(promised.bit_identical, written.bit_identical);
        EXPECT_EQ(promised.synchronizing, written.synchronizing);
        EXPECT_EQ(promised.for_nodes, written.for_nodes);
        ++compared;
    }
    EXPECT_GE(compared, 70U);
}

}  // namespace
}  // namespace weft::collectives
