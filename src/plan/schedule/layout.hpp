// SPDX-License-Identifier: BSD-3-Clause
// layout.hpp - which node each rank of a team is on.
//
// Idea     Nodes are numbered in the order of their first ranks, and the ranks of a node by their
//          order in the team: its local ranks. Where nodes hold the same number of consecutive
//          ranks, that number says everything; where they hold consecutive ranks, their first ranks
//          do.
// Why      Programs that know the nodes are generated from it on every rank, one rank at a time: it
//          must be the same everywhere, and cost nothing to pass on.
// Holds    A value: copies share what there is of a table, which never changes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan/schedule/block.hpp"

namespace weft::plan {

class Layout {
  public:
    /// Of no team: all ranks are taken to be on one node.
    Layout() = default;
    /// `per_node` consecutive ranks on each node, the rest on the last one.
    Layout(Rank size, Rank per_node);
    /// By rank; equal numbers, whichever they are, mean the same node.
    [[nodiscard]] static Layout of(std::span<const Rank> node_of_rank);

    [[nodiscard]] bool is_given() const { return size_ > 0; }
    [[nodiscard]] Rank size() const { return size_; }
    [[nodiscard]] Rank nodes() const { return nodes_; }
    /// Whether the ranks of each node follow each other.
    [[nodiscard]] bool contiguous() const { return table_ == nullptr || table_->node_of.empty(); }

    [[nodiscard]] Rank node_of(Rank rank) const;
    /// The place of a rank among those of its node.
    [[nodiscard]] Rank local_of(Rank rank) const;
    [[nodiscard]] Rank ranks_on(Rank node) const;
    [[nodiscard]] Rank rank_at(Rank node, Rank local) const;
    [[nodiscard]] bool near(Rank a, Rank b) const { return node_of(a) == node_of(b); }

    /// Fewest and most ranks on a node.
    [[nodiscard]] Rank least() const { return least_; }
    [[nodiscard]] Rank most() const { return most_; }
    /// How many ranks nodes have: each number once, ascending.
    [[nodiscard]] std::vector<Rank> sizes() const;

    friend bool operator==(const Layout& a, const Layout& b);

  private:
    /// What one number does not say.
    struct Table {
        std::vector<Rank>
            first;  ///< by node: where its ranks start in `ranks`; one more at the end
        std::vector<Rank> ranks;    ///< by node, then local rank; empty if ranks are in that order
        std::vector<Rank> node_of;  ///< by rank; empty likewise

        friend bool operator==(const Table&, const Table&) = default;
    };

    void count_sizes();

    Rank size_ = 0;
    Rank nodes_ = 0;
    Rank per_node_ = 1;  ///< without a table
    Rank least_ = 0;
    Rank most_ = 0;
    std::shared_ptr<const Table> table_;
};

}  // namespace weft::plan
