// SPDX-License-Identifier: BSD-3-Clause
// node_position.hpp - position of a rank on its node, for algorithms where every rank
// uses the network.
//
// Idea     The first ranks of each node are its *ports*; their number is the number of ranks of the
//          smallest node. Port l of a node communicates with port l of other nodes. The remaining
//          ranks communicate on their node only.
// Why      With equal numbers of ports, every message has one sender and one receiver on any
//          layout, and all nodes run the same algorithm.
// Next     algorithm.hpp for requests; plan/schedule/layout.hpp.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/algorithm.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

struct NodePosition {
    explicit NodePosition(const GenerateRequest& request)
        : layout(layout_of(request)),
          rank(request.rank),
          node(layout.node_of(request.rank)),
          local(layout.local_of(request.rank)),
          count(layout.ranks_on(node)),
          nodes(layout.nodes()),
          ports(layout.least()) {}

    plan::Layout layout;
    Rank rank;
    Rank node;
    Rank local;
    Rank count;  ///< ranks on this node
    Rank nodes;
    Rank ports;  ///< of each node

    [[nodiscard]] bool is_port() const { return local < ports; }
    [[nodiscard]] Rank node_rank(Rank number) const { return layout.rank_at(node, number); }
    /// Returns the rank with this rank's local number on node `other` modulo the number of nodes.
    [[nodiscard]] Rank partner(std::int64_t other) const {
        const auto around = static_cast<Rank>(((other % nodes) + nodes) % nodes);
        return layout.rank_at(around, local);
    }
    /// Returns the other ranks of the node, from the next one on, so that ranks start
    /// with different peers.
    [[nodiscard]] std::vector<Rank> others() const {
        std::vector<Rank> list;
        for (Rank k = 1; k < count; ++k) list.push_back(node_rank((local + k) % count));
        return list;
    }
};

/// Consecutive nodes from `first` on, modulo the number of nodes.
struct NodeWindow {
    std::int64_t first = 0;
    Rank count = 0;
};

/// Calls visit(first, count) for the runs of consecutive ranks on some nodes, node by node.
template <class Visit>
void for_each_run(const plan::Layout& layout, NodeWindow nodes, Visit visit) {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    const auto add = [&](Rank rank, Rank ranks) {
        const auto begin = static_cast<std::uint32_t>(rank);
        if (count == 0 || begin != first + count) {
            if (count > 0) visit(first, count);
            first = begin;
            count = 0;
        }
        count += static_cast<std::uint32_t>(ranks);
    };
    for (Rank k = 0; k < nodes.count; ++k) {
        const auto node = static_cast<Rank>((nodes.first + k) % layout.nodes());
        const Rank ranks = layout.ranks_on(node);
        if (layout.contiguous()) {
            add(layout.rank_at(node, 0), ranks);
            continue;
        }
        for (Rank local = 0; local < ranks; ++local) add(layout.rank_at(node, local), 1);
    }
    if (count > 0) visit(first, count);
}

/// Returns the blocks of the ranks of some nodes; `block_of(first, count)` returns a run of them.
template <class BlockOf>
[[nodiscard]] std::vector<plan::Block> blocks_of_nodes(const plan::Layout& layout, NodeWindow nodes,
                                                       BlockOf block_of) {
    std::vector<plan::Block> list;
    for_each_run(layout, nodes, [&](std::uint32_t first, std::uint32_t count) {
        list.push_back(block_of(first, count));
    });
    return list;
}

/// Returns an upper bound of the ranks on any `nodes` nodes.
[[nodiscard]] inline std::uint32_t ranks_at_most(const plan::Layout& layout, std::int64_t nodes) {
    return static_cast<std::uint32_t>(std::min<std::int64_t>(nodes * layout.most(), layout.size()));
}

/// Puts the same data to several ranks under one number, so that local peers may share one copy.
inline void share(plan::Builder& builder, const std::vector<Rank>& ranks, std::uint32_t number,
                  std::span<const plan::Block> source) {
    for (const Rank rank : ranks) builder.put(rank, number, source, plan::kShared);
}
inline void share(plan::Builder& builder, const std::vector<Rank>& ranks, std::uint32_t number,
                  plan::Block source) {
    share(builder, ranks, number, std::span(&source, 1));
}

}  // namespace weft::collectives
