// SPDX-License-Identifier: BSD-3-Clause
// fabric_over.hpp - a virtual fabric that reaches the segments of a virtual network.
#pragma once

#include "tests/support/virtual_fabric.hpp"
#include "tests/support/virtual_wire.hpp"

namespace weft::test {

[[nodiscard]] inline std::vector<std::byte*> segments_of(VirtualNetwork& network) {
    std::vector<std::byte*> all;
    for (const Rank rank : network.ranks()) all.push_back(network.segment(rank));
    return all;
}

/// Returns options as adverse as the setting allows, with limits drawn from `random`.
[[nodiscard]] inline VirtualFabricOptions fabric_over(VirtualNetwork& network,
                                                      const FabricSetting& setting,
                                                      std::uint64_t seed, base::Random& random) {
    VirtualFabricOptions made{.segments = segments_of(network),
                              .segment_bytes = network.segment_bytes(),
                              .seed = seed,
                              .setting = setting};
    made.setting.conduct = harden(setting.conduct, random);
    return made;
}

}  // namespace weft::test
