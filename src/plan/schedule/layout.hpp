// SPDX-License-Identifier: BSD-3-Clause
// layout.hpp - node of each rank of a team.
//
// Idea     Nodes are numbered in the order of their first ranks. A rank's local number is its index
//          among the ranks of its node. If all nodes have equal numbers of consecutive ranks (the
//          last node may have fewer), that number describes the layout. If the numbers differ, but
//          the ranks of each node are consecutive, the first ranks of the nodes describe it.
//          Otherwise a table of all ranks does.
// Why      Each rank generates its node-aware program from the layout. The layout must be equal on
//          all ranks and cheap to copy.
// Holds    A value type: copies share the table, which is immutable.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan/schedule/block.hpp"

namespace weft::plan {

class Layout {
  public:
    /// Constructs an empty layout, for which is_given() is false.
    Layout() = default;
    /// Constructs a layout with `per_node` consecutive ranks on each node; the last node may have
    /// fewer.
    Layout(Rank size, Rank per_node);
    /// Returns the layout in which ranks with equal values of `node_of_rank` share a node. The
    /// values are arbitrary.
    [[nodiscard]] static Layout of(std::span<const Rank> node_of_rank);

    [[nodiscard]] bool is_given() const { return size_ > 0; }
    [[nodiscard]] Rank size() const { return size_; }
    [[nodiscard]] Rank nodes() const { return nodes_; }
    /// Returns true if the ranks of each node are consecutive.
    [[nodiscard]] bool contiguous() const { return table_ == nullptr || table_->node_of.empty(); }

    [[nodiscard]] Rank node_of(Rank rank) const;
    [[nodiscard]] Rank local_of(Rank rank) const;
    [[nodiscard]] Rank ranks_on(Rank node) const;
    [[nodiscard]] Rank rank_at(Rank node, Rank local) const;
    /// Returns true if both ranks are on one node.
    [[nodiscard]] bool near(Rank a, Rank b) const { return node_of(a) == node_of(b); }

    /// Return the fewest and the most ranks of a node.
    [[nodiscard]] Rank least() const { return least_; }
    [[nodiscard]] Rank most() const { return most_; }
    /// Returns the distinct numbers of ranks of nodes, ascending.
    [[nodiscard]] std::vector<Rank> sizes() const;

    friend bool operator==(const Layout& a, const Layout& b);

  private:
    /// Description of a layout with nodes of different sizes or scattered ranks.
    struct Table {
        /// By node: start of the node's ranks in `ranks`. The last entry is the number of ranks.
        std::vector<Rank> first;
        /// Ranks by node, then local number; empty if that is rank order.
        std::vector<Rank> ranks;
        std::vector<Rank> node_of;  ///< node by rank; empty if `ranks` is empty

        friend bool operator==(const Table&, const Table&) = default;
    };

    void count_sizes();

    Rank size_ = 0;
    Rank nodes_ = 0;
    Rank per_node_ = 1;  ///< without a table: ranks on each node but the last
    Rank least_ = 0;
    Rank most_ = 0;
    std::shared_ptr<const Table> table_;
};

}  // namespace weft::plan
