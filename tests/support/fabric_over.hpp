// SPDX-License-Identifier: BSD-3-Clause
// fabric_over.hpp - a virtual fabric that reaches the segments of a virtual network, and real wires
// over both.
#pragma once

#include <algorithm>
#include <deque>

#include "link/wire/wire.hpp"
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

/// Opens the wire of a rank, with a port if it has peers on other nodes.
inline link::Wire& open_wire(std::deque<link::Wire>& wires, VirtualNetwork& network,
                             VirtualFabric& fabric, Rank rank) {
    std::vector<std::byte*> near = segments_of(network);
    for (const Rank peer : network.ranks())
        if (!network.is_near(rank, peer)) near[static_cast<std::size_t>(peer)] = nullptr;
    const bool alone = std::ranges::count(near, nullptr) == 0;
    const std::uint64_t bytes = network.segment_bytes();
    return wires.emplace_back(
        std::move(near), alone ? nullptr : fabric.open_port(rank),
        link::WireOptions{.rank = rank, .segment_bytes = bytes, .cells_end = bytes});
}

}  // namespace weft::test
