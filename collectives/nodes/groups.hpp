// SPDX-License-Identifier: BSD-3-Clause
// groups.hpp - calls among the ranks of a node, or among one rank of each node, as parts of a
// program.
//
// Idea     Every node has a leader: the root on the root's node, elsewhere its first rank, or
//          (where what the ranks of a node have comes together there) its last one. A part is a
//          call of some algorithm of the registry by the ranks of every node, by the leaders, or by
//          the ranks that have the same place on their nodes; or what a rank does for itself.
// Next     plan/schedule/splice.hpp for how parts become a program; hierarchical.cpp.
#pragma once

#include <memory>
#include <string_view>

#include "collectives/algorithm.hpp"
#include "plan/schedule/splice.hpp"

namespace weft::collectives {

/// What of the vectors a part is about.
enum class Data : std::uint8_t {
    none,    ///< its signals only
    vector,  ///< the vector as it is
    /// There is a block for each rank of the team: of a node's rank, its own; of those that speak
    /// for nodes, the blocks of all ranks of the node.
    blocks,
    places,  ///< likewise; of a node's rank, those of all ranks at its place on their nodes
};

/// A call among groups: which collective, by which algorithm, and on which vectors.
struct GroupCall {
    std::string_view collective;
    AlgorithmSpec spec;
    plan::VectorName input{plan::Buffer::input};
    plan::VectorName output{plan::Buffer::output};
    Data data = Data::vector;
};

enum class Leader : std::uint8_t { first, last };

/// The shapes of groups of a call, which are the same on all its ranks: made by the first of them.
struct KnownShapes {
    struct Shape {
        std::string_view collective;
        AlgorithmSpec spec;
        Data data = Data::vector;
        Rank of_size = 1;  ///< of the whole team
        Rank size = 1;
        Rank root = 0;
        Rank rank = 0;
        std::shared_ptr<const plan::Program> program = nullptr;
    };
    std::vector<Shape> shapes;
};

class Groups {
  public:
    explicit Groups(const GenerateRequest& request, Leader leader = Leader::first);

    [[nodiscard]] bool leads() const { return local_ == leader_of(node_); }
    [[nodiscard]] Rank node() const { return node_; }
    [[nodiscard]] Rank local() const { return local_; }
    [[nodiscard]] const plan::Layout& layout() const { return layout_; }
    /// The ranks of each node call; its leader is the root, if there is one.
    [[nodiscard]] base::Result<plan::Part> on_nodes(const GroupCall& call) const;
    /// The leaders call; that of the root's node is the root, if there is one.
    [[nodiscard]] base::Result<plan::Part> of_leaders(const GroupCall& call) const;
    /// The ranks at each place of their nodes call. Nodes have equally many.
    [[nodiscard]] base::Result<plan::Part> of_places(const GroupCall& call) const;
    /// This rank copies input to output, or combines the input with what the output holds, in this
    /// order.
    [[nodiscard]] plan::Part by_itself(plan::VectorName input, plan::VectorName output,
                                       bool combines) const;

  private:
    /// A group as far as its programs' headers depend on it.
    struct Kind {
        Rank size = 1;
        Rank root = 0;
    };

    [[nodiscard]] Rank leader_of(Rank node) const {
        if (node == root_node_ && leader_ == Leader::first) return root_local_;
        return leader_ == Leader::first ? 0 : layout_.ranks_on(node) - 1;
    }
    [[nodiscard]] base::Result<plan::Program> generate_in(const GroupCall& call, Kind kind,
                                                          Rank rank) const;
    [[nodiscard]] base::Result<std::shared_ptr<const plan::Program>> shape_of(const GroupCall& call,
                                                                              Kind kind,
                                                                              Rank rank) const;
    [[nodiscard]] base::Result<void> add_shapes(const GroupCall& call, Kind kind,
                                                plan::Part& part) const;
    /// A part of one rank of each node, with this rank among them if `mine`.
    [[nodiscard]] base::Result<plan::Part> among_nodes(const GroupCall& call, bool mine,
                                                       std::function<Rank(Rank)> rank_of) const;

    GenerateRequest request_;
    Leader leader_;
    plan::Layout layout_;
    Rank node_ = 0;
    Rank local_ = 0;
    Rank root_node_ = 0;
    Rank root_local_ = 0;
};

}  // namespace weft::collectives
