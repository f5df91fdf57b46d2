// SPDX-License-Identifier: BSD-3-Clause
// node_position.hpp - where a rank stands on its node, for algorithms in which every rank drives
// the network.
//
// Idea     The first ranks of each node, as many as the smallest node has, are its *ports*: port l
//          of a node talks to port l of other nodes. Further ranks take part on their node only.
// Why      With as many ports on each node every message has one sender and one receiver, whatever
//          the layout, and every node can do what every other does.
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
    /// The same port of another node; nodes are counted around.
    [[nodiscard]] Rank partner(std::int64_t other) const {
        const auto around = static_cast<Rank>(((other % nodes) + nodes) % nodes);
        return layout.rank_at(around, local);
    }
    /// All others on the node, beginning with the next one, so that no rank is the first of all.
    [[nodiscard]] std::vector<Rank> others() const {
        std::vector<Rank> list;
        for (Rank k = 1; k < count; ++k) list.push_back(node_rank((local + k) % count));
        return list;
    }
};

/// Nodes from `first` on, counted around.
struct NodeWindow {
    std::int64_t first = 0;
    Rank count = 0;
};

/// Visits the runs of ranks that follow each other (first, count) on some nodes, node by node.
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

/// The blocks of the ranks of some nodes, as `block_of(first, count)` names runs of them.
template <class BlockOf>
[[nodiscard]] std::vector<plan::Block> blocks_of_nodes(const plan::Layout& layout, NodeWindow nodes,
                                                       BlockOf block_of) {
    std::vector<plan::Block> list;
    for_each_run(layout, nodes, [&](std::uint32_t first, std::uint32_t count) {
        list.push_back(block_of(first, count));
    });
    return list;
}

/// More ranks than so many nodes hold, anywhere.
[[nodiscard]] inline std::uint32_t ranks_at_most(const plan::Layout& layout, std::int64_t nodes) {
    return static_cast<std::uint32_t>(std::min<std::int64_t>(nodes * layout.most(), layout.size()));
}

/// Puts the same to several ranks under one number, so that near ones may read one copy.
inline void share(plan::Builder& builder, const std::vector<Rank>& ranks, std::uint32_t number,
                  std::span<const plan::Block> source) {
    for (const Rank rank : ranks) builder.put(rank, number, source, plan::kShared);
}
inline void share(plan::Builder& builder, const std::vector<Rank>& ranks, std::uint32_t number,
                  plan::Block source) {
    share(builder, ranks, number, std::span(&source, 1));
}

}  // namespace weft::collectives
