// SPDX-License-Identifier: BSD-3-Clause
// Bug: ports registered a rank's segment with the key 0, so each process that reached the endpoint
// could write to its memory. Method: read the keys that ports publish. Without the fix they are 0
// to 3. lengths_of_peers_test.cpp tests that keys are random.
#include <gtest/gtest.h>

#include <set>

#include "link/fabric/card.hpp"
#include "tests/system/regress_network/strict_ports.hpp"

namespace weft::test {
namespace {

/// Returns the keys of all ports; `small`: with a profile that requires small keys.
std::set<std::uint64_t> keys(bool small) {
    constexpr Rank kRanks = 16;
    link::Profile profile;
    profile.small_keys = small;
    StrictPorts ports(kRanks, profile);
    std::set<std::uint64_t> found;
    for (Rank rank = 0; rank < kRanks; ++rank) {
        const auto card = link::decode_card(ports[rank].address());
        EXPECT_TRUE(card.ok());
        found.insert(card->memory.key);
        if (card->landing.bytes != 0) found.insert(card->landing.key);
    }
    return found;
}

TEST(SmallKeys, PortsUseRandom64BitKeys) {
    const std::set<std::uint64_t> drawn = keys(false);
    EXPECT_GE(drawn.size(), 16U) << "keys are equal";
    EXPECT_GT(*drawn.begin(), std::uint64_t{1} << 40) << "not 64 random bits";
}

TEST(SmallKeys, SmallKeysAreUsedIfTheProfileRequiresThem) {
    EXPECT_LT(*keys(true).rbegin(), 100U);
}

}  // namespace
}  // namespace weft::test
