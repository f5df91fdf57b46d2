// SPDX-License-Identifier: BSD-3-Clause
// Bug: hosts without a default route used the first interface of the kernel's list. This may be the
// bridge of a container engine, which has the same address on all hosts, so ranks connected to
// themselves. Method: call choose_address(), the fix, with invented address lists.
#include <gtest/gtest.h>

#include "link/fabric/host_addresses.hpp"
#include "run/job/host_facts.hpp"

namespace weft::link {
namespace {

/// Returns the IPv4 address a.b.c.d.
constexpr std::uint32_t ip(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    return a << 24 | b << 16 | c << 8 | d;
}

/// Address and prefix length of a container engine's bridge.
const HostAddress kBridge{ip(172, 17, 0, 1), 16};

TEST(SharedBridge, TheBridgeIsNotChosen) {
    // Host and addresses of each rank.
    const std::vector<HostOnNetwork> ranks{{1, {kBridge, {ip(10, 0, 0, 1), 24}}},
                                           {1, {kBridge, {ip(10, 0, 0, 1), 24}}},
                                           {2, {kBridge, {ip(10, 0, 0, 2), 24}}}};
    EXPECT_EQ(choose_address(ranks, 0), "10.0.0.1");
    EXPECT_EQ(choose_address(ranks, 1), "10.0.0.1") << "ranks of one host share their address";
    EXPECT_EQ(choose_address(ranks, 2), "10.0.0.2");
}

/// The identity of a kernel's first network namespace is equal on all hosts.
TEST(SharedBridge, TheBridgeIsNotChosenIfHostsHaveEqualKernels) {
    std::vector<HostOnNetwork> ranks;
    for (const std::uint32_t host : {1U, 1U, 2U}) {
        run::HostFacts facts;
        facts.network = network_identity();
        facts.address_count = 2;
        facts.addresses[0] = kBridge;
        facts.addresses[1] = {ip(10, 0, 0, host), 24};
        ranks.push_back(facts.on_network(host));
    }
    EXPECT_EQ(choose_address(ranks, 0), "10.0.0.1");
    EXPECT_EQ(choose_address(ranks, 1), "10.0.0.1");
    EXPECT_EQ(choose_address(ranks, 2), "10.0.0.2");
}

TEST(SharedBridge, ANetworkOfAllHostsIsPreferred) {
    const std::vector<HostOnNetwork> ranks{{1, {{ip(192, 168, 1, 5), 24}, {ip(10, 0, 0, 1), 8}}},
                                           {2, {{ip(192, 168, 7, 5), 24}, {ip(10, 9, 0, 2), 8}}}};
    EXPECT_EQ(choose_address(ranks, 0), "10.0.0.1");
    EXPECT_EQ(choose_address(ranks, 1), "10.9.0.2");
}

TEST(SharedBridge, WithoutACommonNetworkTheBestAddressIsChosen) {
    const std::vector<HostOnNetwork> ranks{{1, {{ip(10, 1, 0, 1), 16}, {ip(10, 5, 0, 1), 16}}},
                                           {2, {{ip(10, 2, 0, 1), 16}, {ip(10, 6, 0, 1), 16}}}};
    EXPECT_EQ(choose_address(ranks, 0), "10.1.0.1");
    EXPECT_EQ(choose_address(ranks, 1), "10.2.0.1");
    EXPECT_EQ(choose_address(std::vector<HostOnNetwork>{{1, {}}, {2, {}}}, 0), "");
    EXPECT_EQ(choose_address(std::vector<HostOnNetwork>{{1, {kBridge}}, {2, {kBridge}}}, 0),
              "172.17.0.1")
        << "a bridge is chosen if a host has no other address";
}

TEST(SharedBridge, AnyPrefixLengthIsAccepted) {
    for (const std::uint32_t bits : {0U, 1U, 31U, 32U, 33U, 4'000'000'000U}) {
        const std::vector<HostOnNetwork> ranks{{1, {{ip(10, 0, 0, 1), bits}}},
                                               {2, {{ip(10, 0, 0, 2), bits}}}};
        EXPECT_EQ(choose_address(ranks, 0), "10.0.0.1") << bits;
    }
}

}  // namespace
}  // namespace weft::link
