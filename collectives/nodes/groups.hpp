// SPDX-License-Identifier: BSD-3-Clause
// groups.hpp - parts of a program: calls among the ranks of a node or among one rank of each node.
//
// Idea     Every node has a leader. It is the root on the root's node, and otherwise its first
//          rank. For scans it is the last rank, which has the result of its node. A part is one
//          call within each node, one call among the leaders, or one call for each local rank,
//          among the ranks that have it. A part may also be a local step of one rank.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "collectives/algorithm.hpp"
#include "collectives/patterns/range_tree.hpp"
#include "plan/schedule/splice.hpp"

namespace weft::collectives {

/// Data that a part works on.
enum class Data : std::uint8_t {
    none,   ///< no data, only the signals of the call
    whole,  ///< the whole buffer
    /// The buffer has a block for each rank of the team. Within a node a rank has its own block.
    /// Among nodes a rank has the blocks of all ranks of its node.
    blocks,
    /// Like `blocks`, but for calls within nodes only: the rank with local rank l has, for each
    /// node, the block of that node's rank l.
    by_local_rank,
};

/// A call within groups of ranks: its collective, its algorithm and the names of its buffers.
struct GroupCall {
    std::string_view collective;
    AlgorithmSpec spec;
    plan::VectorName input{plan::Buffer::input};
    plan::VectorName output{plan::Buffer::output};
    Data data = Data::whole;
};

enum class Leader : std::uint8_t { first, last };

/// Cache of shapes (plan/schedule/splice.hpp) for the requests of several ranks of a call.
struct KnownShapes {
    struct ShapeKey {
        Rank size = 1;  ///< number of ranks of the group
        Rank root = 0;  ///< index in the group
        Rank rank = 0;  ///< index in the group
        Data data = Data::whole;
        std::string_view collective;
        AlgorithmSpec spec;

        friend bool operator==(const ShapeKey&, const ShapeKey&) = default;
    };
    struct GroupShape {
        ShapeKey key;
        std::shared_ptr<const plan::Program> program;
    };
    std::vector<GroupShape> shapes;
    std::optional<patterns::RangeTree> tree;  ///< tree of a gather or scatter of the whole team
};

/// An algorithm that a parameter names, and its collective.
struct Named {
    std::string_view collective;
    AlgorithmSpec spec;
    const Algorithm* algorithm = nullptr;
};

/// Returns the algorithm that parameter `key` names (default: `fallback`), from the first of the
/// collectives that has it.
[[nodiscard]] base::Result<Named> named_by(const AlgorithmSpec& spec, std::string_view key,
                                           std::string_view fallback,
                                           std::span<const std::string_view> collectives);

/// Returns the program of rank request.rank in a group of request.size ranks, as a part of the
/// program of a larger team. The root and elements of the request must be the group's. Ignores its
/// layout, counts and known_shapes.
[[nodiscard]] base::Result<plan::Program> generate_part(std::string_view collective,
                                                        AlgorithmSpec spec,
                                                        GenerateRequest request);

class Groups {
  public:
    explicit Groups(const GenerateRequest& request, Leader leader = Leader::first);

    /// Returns true if this rank is its node's leader.
    [[nodiscard]] bool leads() const { return local_ == leader_of(node_); }
    [[nodiscard]] Rank node() const { return node_; }
    [[nodiscard]] Rank local() const { return local_; }
    [[nodiscard]] const plan::Layout& layout() const { return layout_; }
    /// Returns calls among the ranks of each node. In rooted collectives the leader is the root.
    [[nodiscard]] base::Result<plan::SplicePart> on_nodes(const GroupCall& call) const;
    /// Returns a call among the leaders. Its root is the leader of the root's node.
    [[nodiscard]] base::Result<plan::SplicePart> of_leaders(const GroupCall& call) const;
    /// Returns calls among equal local ranks. All nodes must have the same number of ranks.
    [[nodiscard]] base::Result<plan::SplicePart> of_equal_local_ranks(const GroupCall& call) const;
    /// Returns a local step of this rank: copies input to output or, if `combines`, combines the
    /// input (first operand) with the output.
    [[nodiscard]] plan::SplicePart local_step(plan::VectorName input, plan::VectorName output,
                                              bool combines) const;

  private:
    struct Group {
        Rank size = 1;
        Rank root = 0;  ///< in rooted collectives: index in the group
    };

    [[nodiscard]] Rank leader_of(Rank node) const {
        if (node == root_node_ && leader_ == Leader::first) return root_local_;
        return leader_ == Leader::first ? 0 : layout_.ranks_on(node) - 1;
    }
    [[nodiscard]] base::Result<plan::Program> generate_in(const GroupCall& call, Group group,
                                                          Rank rank) const;
    [[nodiscard]] base::Result<std::shared_ptr<const plan::Program>> shape_of(const GroupCall& call,
                                                                              Group group,
                                                                              Rank rank) const;
    [[nodiscard]] base::Result<void> add_shapes(const GroupCall& call, Group group,
                                                plan::SplicePart& part) const;
    /// Returns a call among one rank of each node. `mine`: this rank is one of the callers.
    [[nodiscard]] base::Result<plan::SplicePart> among_nodes(
        const GroupCall& call, bool mine, std::function<Rank(Rank)> rank_of) const;

    GenerateRequest request_;
    Leader leader_;
    plan::Layout layout_;
    Rank node_ = 0;
    Rank local_ = 0;
    Rank root_node_ = 0;
    Rank root_local_ = 0;
};

}  // namespace weft::collectives
