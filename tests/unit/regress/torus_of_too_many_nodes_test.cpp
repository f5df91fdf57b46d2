// SPDX-License-Identifier: BSD-3-Clause
// Bug: the product of a torus's dimensions wrapped to zero. route() divides by the product, so
// SIGFPE ended the process. Method: tests parse dimensions whose product is above, or just below,
// the largest number of ranks.
#include <gtest/gtest.h>

#include "tools/simulate/topology.hpp"

namespace weft::test {
namespace {

TEST(TorusOfTooManyNodes, TooManyNodesAreRefused) {
    for (const char* const dims :
         {"2x1073741824", "65536x32768", "1073741824x1073741824x1073741824x2",
          "1073741824x1073741824x1073741824x1073741824x1073741824"}) {
        const auto topology = lab::Topology::parse(std::string("torus:hop=1,dims=") + dims, 0, 2);
        ASSERT_FALSE(topology.ok()) << dims;
        EXPECT_EQ(topology.failure().text, "torus: dims make more than 2147483647 nodes");
    }
}

TEST(TorusOfTooManyNodes, NumbersJustBelowTheLimitAreAccepted) {
    const auto topology = lab::Topology::parse("torus:hop=1,dims=32767x65536", 0, 65536);
    ASSERT_TRUE(topology.ok()) << topology.failure().text;
    std::vector<std::uint64_t> links;
    topology->route(0, 32767, links);
    EXPECT_EQ(links.size(), 3U);  // the ports of both nodes, and a link of the second dimension
}

}  // namespace
}  // namespace weft::test
