// SPDX-License-Identifier: BSD-3-Clause
// fabric_over.hpp - a virtual fabric and real wires (link::Wire) over the segments of a virtual
// network.
#pragma once

#include <algorithm>
#include <deque>

#include "link/wire/wire.hpp"
#include "tests/support/virtual_fabric.hpp"
#include "tests/support/virtual_wire.hpp"

namespace weft::test {

/// Returns the segments, by rank.
[[nodiscard]] inline std::vector<std::byte*> segments_of(VirtualNetwork& network) {
    std::vector<std::byte*> segments;
    for (const Rank rank : network.ranks()) segments.push_back(network.segment(rank));
    return segments;
}

/// Returns options of a fabric with the setting's promises, and random limits and refusals.
[[nodiscard]] inline VirtualFabricOptions fabric_over(VirtualNetwork& network,
                                                      const FabricSetting& setting,
                                                      std::uint64_t seed, base::Random& random) {
    VirtualFabricOptions options{.segments = segments_of(network),
                                 .segment_bytes = network.segment_bytes(),
                                 .seed = seed,
                                 .setting = setting};
    options.setting.conduct = harden(setting.conduct, random);
    return options;
}

/// Returns make(segments, port, options), which makes the wire of a rank. The segments of remote
/// ranks are nullptr. The port is nullptr if all ranks are local.
template <class Make>
decltype(auto) make_wire(VirtualNetwork& network, VirtualFabric& fabric, Rank rank, Make make) {
    std::vector<std::byte*> near = segments_of(network);
    for (const Rank peer : network.ranks())
        if (!network.is_near(rank, peer)) near[static_cast<std::size_t>(peer)] = nullptr;
    const bool one_node = std::ranges::count(near, nullptr) == 0;
    const std::uint64_t bytes = network.segment_bytes();
    return make(std::move(near), one_node ? nullptr : fabric.open_port(rank),
                link::WireOptions{.rank = rank, .segment_bytes = bytes, .cells_end = bytes});
}

/// Adds the wire of a rank to `wires`.
inline link::Wire& open_wire(std::deque<link::Wire>& wires, VirtualNetwork& network,
                             VirtualFabric& fabric, Rank rank) {
    return make_wire(network, fabric, rank, [&](auto&&... arguments) -> link::Wire& {
        return wires.emplace_back(std::move(arguments)...);
    });
}

}  // namespace weft::test
