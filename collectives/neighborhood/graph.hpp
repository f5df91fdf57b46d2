// SPDX-License-Identifier: BSD-3-Clause
// graph.hpp - neighborhood collectives of any directed graph: the messages of one rank.
//
// Idea     A rank knows its own edges: whom it sends to and whom it receives from, a block for
//          each. Its messages are those of a call whose counts two ranks know
//          (../v_collective.hpp). Edges to itself and several between the same two ranks are
//          allowed: of these, the first one that leaves is the first one that arrives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "collectives/v_collective.hpp"

namespace weft::collectives {

/// The messages along the edges to (from) these ranks, without those that have no elements. Of
/// parallel edges, each has a number: how many there were before, with elements or not.
[[nodiscard]] inline std::vector<Message> messages_along(std::span<const Rank> peers,
                                                         std::span<const std::uint64_t> counts) {
    std::map<Rank, std::uint32_t> before;
    std::vector<Message> messages;
    for (std::size_t i = 0; i < peers.size(); ++i) {
        const std::uint32_t parallel = before[peers[i]]++;
        if (counts[i] > 0)
            messages.push_back({.peer = peers[i], .count = counts[i], .parallel = parallel});
    }
    return messages;
}

/// Most edges that a rank has from one other rank; all ranks have to agree about the most there is.
[[nodiscard]] inline std::uint32_t parallel_edges(std::span<const Rank> peers) {
    std::map<Rank, std::uint32_t> edges;
    std::uint32_t most = 1;
    for (const Rank peer : peers) most = std::max(most, ++edges[peer]);
    return most;
}

}  // namespace weft::collectives
