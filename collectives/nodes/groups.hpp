// SPDX-License-Identifier: BSD-3-Clause
// groups.hpp - calls among the ranks of a node, or among one rank of each node, as parts of a program.
//
// Idea     Every node has a leader: the root on the root's node, elsewhere its first rank. A part is a call
//          of some algorithm of the registry by the ranks of every node, or by the leaders.
// Next     plan/schedule/splice.hpp for how parts become a program; hierarchical.cpp.
#pragma once

#include <string_view>

#include "collectives/algorithm.hpp"
#include "plan/schedule/splice.hpp"

namespace weft::collectives {

/// A call among groups: which collective, by which algorithm, and on which vectors.
struct GroupCall {
    std::string_view collective;
    AlgorithmSpec spec;
    plan::VectorName input{plan::Buffer::input};
    plan::VectorName output{plan::Buffer::output};
    bool bare = false;  ///< its signals only
    /// Of the vector that has a block for each rank of the team, by blocks: of a node's ranks, each its
    /// own; of leaders, those of all ranks of the node.
    bool by_blocks = false;
};

class Groups {
  public:
    explicit Groups(const GenerateRequest& request);

    [[nodiscard]] bool leads() const { return local_ == leader_of(node_); }
    [[nodiscard]] const plan::Layout& layout() const { return layout_; }
    /// The ranks of each node call; its leader is the root, if there is one.
    [[nodiscard]] base::Result<plan::Part> on_nodes(const GroupCall& call) const;
    /// The leaders call; that of the root's node is the root, if there is one.
    [[nodiscard]] base::Result<plan::Part> of_leaders(const GroupCall& call) const;

  private:
    /// A group as far as its programs' headers depend on it.
    struct Kind {
        Rank size = 1;
        Rank root = 0;
    };

    [[nodiscard]] Rank leader_of(Rank node) const { return node == root_node_ ? root_local_ : 0; }
    [[nodiscard]] base::Result<plan::Program> generate_in(const GroupCall& call, Kind kind,
                                                          Rank rank) const;
    [[nodiscard]] base::Result<void> add_shapes(const GroupCall& call, Kind kind,
                                                plan::Part& part) const;

    GenerateRequest request_;
    plan::Layout layout_;
    Rank node_ = 0;
    Rank local_ = 0;
    Rank root_node_ = 0;
    Rank root_local_ = 0;
};

}  // namespace weft::collectives
