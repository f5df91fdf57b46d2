// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/layout.hpp"

#include <charconv>

namespace weft::tools {

base::Result<std::vector<Rank>> spread_over_nodes(Rank ranks, Rank nodes) {
    if (nodes < 1 || nodes > ranks)
        return base::fail(Status::argument,
                          "--nodes {}: expected 1 to {}, because every node needs at least one of "
                          "the {} ranks",
                          nodes, ranks, ranks);
    std::vector<Rank> ranks_per_node(static_cast<std::size_t>(nodes), ranks / nodes);
    for (Rank node = 0; node < ranks % nodes; ++node)
        ++ranks_per_node[static_cast<std::size_t>(node)];
    return ranks_per_node;
}

base::Result<std::vector<Rank>> parse_layout(std::string_view text) {
    constexpr std::size_t kNodesMax = std::size_t{1} << 24;
    std::vector<Rank> ranks_per_node;
    std::size_t entry = 0;
    const char* const end = text.data() + text.size();
    for (const char* at = text.data();; ++at, ++entry) {
        Rank ranks = 0;
        std::size_t nodes = 1;
        std::from_chars_result read = std::from_chars(at, end, ranks);
        if (read.ec == std::errc{} && read.ptr != end && *read.ptr == 'x')
            read = std::from_chars(read.ptr + 1, end, nodes);
        const bool separated = read.ptr == end || *read.ptr == ',';
        if (read.ec != std::errc{} || ranks < 1 || nodes < 1 || !separated)
            return base::fail(Status::argument,
                              "--layout {}: expected the ranks of each node, at least 1, separated "
                              "by commas (3,1,4; 18x128 for 128 nodes of 18); entry {} is invalid",
                              text, entry);
        if (nodes > kNodesMax - ranks_per_node.size())
            return base::fail(Status::argument, "--layout {}: more than {} nodes", text, kNodesMax);
        ranks_per_node.insert(ranks_per_node.end(), nodes, ranks);
        if (read.ptr == end) return ranks_per_node;
        at = read.ptr;
    }
}

std::string rank_list(const std::vector<Rank>& ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t first = 0; first < ranks.size();) {
        std::size_t last = first;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        if (first > 0) text += ", ";
        text += std::to_string(ranks[first]);
        if (last > first) text += (last > first + 1 ? "-" : ", ") + std::to_string(ranks[last]);
        first = last + 1;
    }
    return text;
}

std::vector<Rank> node_of_ranks(const std::vector<Rank>& ranks_per_node) {
    std::vector<Rank> node_of;
    for (std::size_t node = 0; node < ranks_per_node.size(); ++node)
        node_of.insert(node_of.end(), static_cast<std::size_t>(ranks_per_node[node]),
                       static_cast<Rank>(node));
    return node_of;
}

}  // namespace weft::tools
