// SPDX-License-Identifier: BSD-3-Clause
// network.hpp - how far ranks are from each other, and over which links, by arithmetic on coordinates.
//
// Idea     Ranks fill nodes in order, nodes fill the network in order; the latency of a message is the
//          model's latency and so much for each link on its way. Nothing is stored per rank or link.
//            two-level:ranks=R,near=NS         R ranks on a node; near replaces the latency there
//            fat-tree:radix=K,hop=NS           each switch has K children; up to the common one, down
//            dragonfly:routers=A,nodes=P,hop=NS,global=NS  groups of A routers with P nodes each
//            torus:dims=4x4x2,hop=NS           dimension after dimension, the shorter way round
//          All but two-level take ranks=R (per node, default 1) and near=NS (default: the latency).
// Holds    Latency is symmetric. A route names each link once, in the order of travel.
// Next     docs/simulator.md; events.cpp makes messages queue on the links.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "plan/simulate/model.hpp"
#include "weft/types.hpp"

namespace weft::plan {

class Network {
  public:
    /// Every pair of ranks is `latency` apart.
    explicit Network(Time latency) : latency_(latency), near_(latency) {}
    [[nodiscard]] static base::Result<Network> parse(std::string_view text, Time latency,
                                                     Rank ranks);

    /// `near` between ranks of the same node, `far` between others; any ranks on any node. The one network
    /// that is stored per rank, for teams that are there; messages meet at the ports of nodes only.
    [[nodiscard]] static Network of_nodes(std::vector<Rank> node_of, Time near, Time far);

    [[nodiscard]] bool uniform() const { return kind_ == Kind::uniform; }
    [[nodiscard]] Time latency(Rank source, Rank target) const;
    /// Names of the links of a message, appended; the ports of nodes are the first and last.
    void route(Rank source, Rank target, std::vector<std::uint64_t>& links) const;
    /// The port by which the node of a rank sends (or receives).
    [[nodiscard]] std::uint64_t port(Rank rank, bool sending) const {
        return link(sending ? LinkKind::out : LinkKind::in, static_cast<std::uint64_t>(node(rank)),
                    0);
    }

  private:
    enum class Kind : std::uint8_t { uniform, two_level, fat_tree, dragonfly, torus, nodes };
    enum class LinkKind : std::uint8_t { out, in, up, local, global, ring };
    [[nodiscard]] static std::uint64_t link(LinkKind kind, std::uint64_t a, std::uint64_t b) {
        return static_cast<std::uint64_t>(kind) << 60 | a << 30 | b;
    }
    [[nodiscard]] base::Result<void> set(std::string_view key, std::string_view value);
    [[nodiscard]] base::Result<void> complete(Rank ranks);
    [[nodiscard]] Rank node(Rank rank) const {
        return kind_ == Kind::nodes ? node_of_[static_cast<std::size_t>(rank)]
                                    : rank / ranks_per_node_;
    }
    [[nodiscard]] int tree_levels(Rank a, Rank b) const;
    [[nodiscard]] Time between_nodes(Rank a, Rank b) const;
    void torus_route(Rank a, Rank b, std::vector<std::uint64_t>& links) const;

    Kind kind_ = Kind::uniform;
    Time latency_;
    Time near_;  ///< within a node
    Time hop_ = 0;
    Time global_ = 0;
    Rank ranks_per_node_ = 1;
    Rank radix_ = 0;
    Rank routers_ = 0;
    Rank nodes_per_router_ = 1;
    std::vector<Rank> dims_;
    std::vector<Rank> node_of_;
};

}  // namespace weft::plan
