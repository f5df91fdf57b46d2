// SPDX-License-Identifier: BSD-3-Clause
// node_tree.hpp - a tree of nodes in which every port of a node carries a part of the blocks.
//
// Idea     Nodes are numbered from the root's node on. An interval of nodes is split into B parts
//          of almost equal size. The interval's first node keeps the first part, and its port j
//          carries part j + 1, to or from port j of that part's first node. Parts are split in the
//          same way until each has one node. On each node one rank, the holder, has the node's
//          blocks: the root, or the port that carries them.
// Next     families/node_tree.cpp.
#pragma once

#include "collectives/generate/node_position.hpp"

namespace weft::collectives {

/// Part of a split: part `port` + 1, which this port carries.
struct NodePart {
    std::uint32_t level = 0;  ///< number of splits above this one
    Rank port = 0;
    NodeWindow nodes;  ///< `first`: number of the part's first node in the layout
};

struct NodeTree {
    NodeTree(const NodePosition& here, Rank root, Rank radix)
        : root_node(here.layout.node_of(root)), holder(here.layout.local_of(root)) {
        const Rank all = here.nodes;
        const Rank own = (here.node - root_node + all) % all;
        const auto number = [&](Rank node) { return static_cast<Rank>((node + root_node) % all); };
        Rank first = 0;
        Rank count = all;
        for (std::uint32_t level = 0; count > 1; ++level) {
            const Rank parts = std::min(radix, count);
            const auto start_of = [&](Rank part) {
                return first + part * (count / parts) + std::min(part, count % parts);
            };
            Rank mine = 0;
            for (Rank part = 1; part < parts; ++part) {
                if (start_of(part) <= own) mine = part;
                if (own == first)
                    child_parts.push_back(
                        {level,
                         part - 1,
                         {number(start_of(part)), start_of(part + 1) - start_of(part)}});
            }
            const Rank start = start_of(mine);
            const Rank nodes = start_of(mine + 1) - start;
            if (own == start && mine > 0) {
                from = number(first);
                holder = mine - 1;
                own_part = {level, mine - 1, {here.node, nodes}};
            }
            first = start;
            count = nodes;
        }
    }

    Rank root_node;
    Rank holder;                ///< local rank of this node's holder
    Rank from = plan::kNoRank;  ///< node that sends this node its part; kNoRank on the root's node
    NodePart own_part;          ///< part that this node receives; unset on the root's node
    std::vector<NodePart> child_parts;  ///< parts for other nodes, larger ones first
};

/// Returns, for each level of splits, the largest number of nodes of a part.
[[nodiscard]] inline std::vector<Rank> part_sizes(Rank nodes, Rank radix) {
    std::vector<Rank> sizes;
    for (Rank left = nodes; left > 1;) {
        left = (left - 1) / std::min(radix, left) + 1;
        sizes.push_back(left);
    }
    return sizes;
}

}  // namespace weft::collectives
