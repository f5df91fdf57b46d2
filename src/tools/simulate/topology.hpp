// SPDX-License-Identifier: BSD-3-Clause
// topology.hpp - latency and links between ranks, by arithmetic on coordinates.
//
// Idea     Ranks fill nodes in order, and nodes fill the network in order. The latency of a message
//          is the model's latency plus a cost for each link of its route. Nothing is stored per
//          rank or link.
//            two-level:ranks=R,near=NS     R ranks on a node, with latency `near` within the node
//            fat-tree:radix=K,hop=NS       each switch has K children; routes go up and down
//            dragonfly:routers=A,nodes=P,hop=NS,global=NS  groups of A routers with P nodes each
//            torus:dims=4x4x2,hop=NS       routes by dimension, in the shorter direction
//            All but two-level take ranks=R (per node, default 1) and near=NS (default: latency).
// Holds    Latency is symmetric. A route names each link once, in the order of travel.
// Next     docs/selection.md; events.hpp for messages that queue on the links.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tools/simulate/clock.hpp"

namespace weft::lab {

class Topology {
  public:
    /// Makes a topology with one rank on each node, and equal latency between all ranks.
    explicit Topology(Time latency) : latency_(latency), near_(latency) {}
    /// Parses a topology in the form above. Fails if it has too few nodes for `ranks` ranks.
    [[nodiscard]] static base::Result<Topology> parse(std::string_view text, Time latency,
                                                      Rank ranks);

    /// Returns the time from the end of a send to the arrival of the message.
    [[nodiscard]] Time latency(Rank source, Rank target) const;
    /// Appends the links of a message: none within a node, else from port to port of the nodes.
    void route(Rank source, Rank target, std::vector<std::uint64_t>& links) const;
    /// Returns the port by which a rank's node sends (if `sending`) or receives.
    [[nodiscard]] std::uint64_t port(Rank rank, bool sending) const {
        return link(sending ? LinkKind::out : LinkKind::in, static_cast<std::uint64_t>(node(rank)),
                    0);
    }

  private:
    enum class Structure : std::uint8_t { two_level, fat_tree, dragonfly, torus, uniform };
    enum class LinkKind : std::uint8_t { out, in, up, local, global, ring };
    /// Returns the number of a link. `a` and `b` (30 bits each) distinguish links of one kind.
    [[nodiscard]] static std::uint64_t link(LinkKind kind, std::uint64_t a, std::uint64_t b) {
        return static_cast<std::uint64_t>(kind) << 60 | a << 30 | b;
    }
    [[nodiscard]] base::Result<void> set(std::string_view key, std::string_view value);
    /// Checks that the topology has all its parameters and enough nodes for `ranks` ranks.
    [[nodiscard]] base::Result<void> check(Rank ranks) const;
    [[nodiscard]] Rank node(Rank rank) const { return rank / ranks_per_node_; }
    [[nodiscard]] int tree_levels(Rank a, Rank b) const;
    /// Returns the latency of the links between two nodes, without the model's latency.
    [[nodiscard]] Time between_nodes(Rank a, Rank b) const;
    void torus_route(Rank a, Rank b, std::vector<std::uint64_t>& links) const;

    Structure structure_ = Structure::uniform;
    Time latency_;
    Time near_;        ///< latency within a node
    Time hop_ = 0;     ///< additional latency of a link
    Time global_ = 0;  ///< additional latency of a link between groups of a dragonfly
    Rank ranks_per_node_ = 1;
    Rank radix_ = 0;    ///< children of a switch in a fat tree
    Rank routers_ = 0;  ///< routers of a group in a dragonfly
    Rank nodes_per_router_ = 1;
    std::vector<Rank> dims_;
};

}  // namespace weft::lab
