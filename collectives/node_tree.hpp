// SPDX-License-Identifier: BSD-3-Clause
// node_tree.hpp - how nodes share out blocks when every rank of a node passes on a part.
//
// Idea     Nodes are counted from the root's. An interval of them is split into B parts of nearly the same size;
//          its first node keeps the first part, and port j of it passes part j+1 to port j of that part's first
//          node. Each part is split likewise, until it is one node. On a node one rank holds what is there: the
//          root, or the port by which it came.
// Source   Huang et al., PiP-MColl, section III-A1, for any number of nodes.
// Next     scatter/multi_object.cpp and gather/multi_object.cpp, which walk it down and up.
#pragma once

#include "collectives/node_position.hpp"

namespace weft::collectives {

/// Part j + 1 of a split: that of port j.
struct NodePart {
    std::uint32_t level = 0;  ///< of the split, from the root on
    Rank port = 0;
    NodeWindow nodes;  ///< first: the part's first node, by its number in the layout
};

/// Where a node is in the tree.
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
                    given.push_back(
                        {level,
                         part - 1,
                         {number(start_of(part)), start_of(part + 1) - start_of(part)}});
            }
            const Rank start = start_of(mine);
            const Rank nodes = start_of(mine + 1) - start;
            if (own == start && mine > 0) {
                from = number(first);
                holder = mine - 1;
                got = {level, mine - 1, {here.node, nodes}};
            }
            first = start;
            count = nodes;
        }
    }

    Rank root_node;
    Rank holder;                  ///< local rank of who holds what this node has
    Rank from = plan::kNoRank;    ///< the node that gives this one its part; none: it is the root's
    NodePart got;                 ///< by which port, and what
    std::vector<NodePart> given;  ///< to others, larger ones first
};

/// Most nodes that a part has at each level of the tree of so many nodes: as many numbers as levels.
[[nodiscard]] inline std::vector<Rank> part_sizes(Rank nodes, Rank radix) {
    std::vector<Rank> sizes;
    for (Rank left = nodes; left > 1;) {
        left = (left - 1) / std::min(radix, left) + 1;
        sizes.push_back(left);
    }
    return sizes;
}

/// Numbers of slots and credits that both directions use: the same on all ranks.
struct NodeTreeNumbers {
    std::uint32_t levels = 0;
    std::uint32_t ports = 0;
    std::uint32_t most = 0;

    // Slots: what crosses the network at a level, what a holder and a port hand each other, and blocks of mates.
    [[nodiscard]] std::uint32_t far(std::uint32_t level) const { return level; }
    [[nodiscard]] std::uint32_t near(std::uint32_t level, Rank port) const {
        return levels + level * ports + static_cast<std::uint32_t>(port);
    }
    [[nodiscard]] std::uint32_t node_rank(Rank local) const {
        return levels * (1 + ports) + static_cast<std::uint32_t>(local);
    }
    /// The credit for a slot.
    [[nodiscard]] std::uint32_t credit(std::uint32_t slot) const { return slots() + slot; }
    [[nodiscard]] std::uint32_t slots() const { return levels * (1 + ports) + most; }
};

}  // namespace weft::collectives
