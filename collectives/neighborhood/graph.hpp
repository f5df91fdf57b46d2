// SPDX-License-Identifier: BSD-3-Clause
// graph.hpp - neighborhood collectives of any directed graph: the messages of one rank.
//
// Idea     A rank knows its own edges, to its receivers and from its senders, with a block for
//          each. Its messages are as in calls whose counts only two ranks know
//          (../v_collective.hpp). A rank may have edges to itself, and several edges to another
//          rank. Such parallel edges are matched in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "collectives/v_collective.hpp"

namespace weft::collectives {

/// Returns the messages along the edges to (or from) these ranks; edges without elements have none.
/// A parallel edge is numbered by the edges before it, with or without elements.
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

/// Returns the largest number of edges from one other rank. The maximum over all ranks must
/// be agreed on.
[[nodiscard]] inline std::uint32_t parallel_edges(std::span<const Rank> peers) {
    std::map<Rank, std::uint32_t> edges;
    std::uint32_t most = 1;
    for (const Rank peer : peers) most = std::max(most, ++edges[peer]);
    return most;
}

}  // namespace weft::collectives
