// SPDX-License-Identifier: BSD-3-Clause
// node_tree.hpp - gather and scatter in which every rank of a node forwards a part of the blocks.
//
// Idea     Nodes are numbered from the root's node on. An interval of nodes is split into B parts
//          of almost equal size. Its first node keeps the first part, and its port j sends part j
//          + 1 to port j of that part's first node. Parts are split in the same way until they
//          have one node. On each node one rank, the holder, holds the node's blocks: the root,
//          or the port that received them. A scatter goes down the tree. A gather goes up, with
//          all messages reversed.
// Source   Huang et al., PiP-MColl, section III-A1, here for any number of nodes and any root; the
//          paper gathers on nodes only.
// Rounds   Over the network ceil(log_B N) for N nodes, with B = ports + 1. On the node one for each
//          of them, and one more.
// Bytes    Over the network the blocks of all other nodes leave (reach) the root's node. Each port
//          carries a part of them.
// Memory   Slots for the parts of each level. One scratch vector on ranks that hold blocks
//          of other nodes.
// Good for Many nodes with several ranks.
// Holds    Not synchronizing: pipelines have a credit for each slot.
// Next     algorithms.cpp of gather and scatter.
#pragma once

#include <ranges>

#include "collectives/blocks.hpp"
#include "collectives/node_position.hpp"

namespace weft::collectives {

/// Part `port` + 1 of a split, which this port carries.
struct NodePart {
    std::uint32_t level = 0;  ///< of the split; the root's level is 0
    Rank port = 0;
    NodeWindow nodes;  ///< `first`: number of the part's first node in the layout
};

/// Position of a node in the tree.
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
    Rank holder;                ///< local rank of the rank that holds the blocks of this node
    Rank from = plan::kNoRank;  ///< node that sends this node its part; kNoRank on the root's node
    NodePart got;               ///< part that this node receives, and its port
    std::vector<NodePart> given;  ///< parts for other nodes, larger ones first
};

/// Returns, for each level of the tree, the largest number of nodes that a part has.
[[nodiscard]] inline std::vector<Rank> part_sizes(Rank nodes, Rank radix) {
    std::vector<Rank> sizes;
    for (Rank left = nodes; left > 1;) {
        left = (left - 1) / std::min(radix, left) + 1;
        sizes.push_back(left);
    }
    return sizes;
}

/// Numbers of slots and credits for both directions; equal on all ranks.
struct NodeTreeNumbers {
    std::uint32_t levels = 0;
    std::uint32_t ports = 0;
    std::uint32_t most = 0;

    // Slots: `far` for a level's messages over the network, `near` for those between holder and
    // port, and `node_rank` for the blocks of local peers.
    [[nodiscard]] std::uint32_t far(std::uint32_t level) const { return level; }
    [[nodiscard]] std::uint32_t near(std::uint32_t level, Rank port) const {
        return levels + level * ports + static_cast<std::uint32_t>(port);
    }
    [[nodiscard]] std::uint32_t node_rank(Rank local) const {
        return levels * (1 + ports) + static_cast<std::uint32_t>(local);
    }
    /// Returns the number of the credit for a slot.
    [[nodiscard]] std::uint32_t credit(std::uint32_t slot) const { return slots() + slot; }
    [[nodiscard]] std::uint32_t slots() const { return levels * (1 + ports) + most; }
};

/// Steps of one rank along the tree: down (scatter), or up (gather) with all messages reversed.
class NodeTreeBlocks {
  public:
    NodeTreeBlocks(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer),
          here_(request),
          tree_(here_, request.root, here_.ports + 1),
          sizes_(part_sizes(here_.nodes, here_.ports + 1)),
          numbers_{static_cast<std::uint32_t>(sizes_.size()),
                   static_cast<std::uint32_t>(here_.ports),
                   static_cast<std::uint32_t>(here_.layout.most())},
          own_(static_cast<std::uint32_t>(request.rank)) {}

    void gather() {
        kept_ = is_top() ? plan::Buffer::output : plan::Buffer::scratch;
        if (is_holder()) {
            writer_->copy(kept(own_, 1), writer_.input(own_));
            for_each_peer([&](Rank peer, std::uint32_t slot) {
                const auto block = static_cast<std::uint32_t>(peer);
                writer_->wait(peer, slot);
                writer_->copy(kept(block, 1), writer_.slot(slot, block));
                writer_.give_credit(peer, numbers_.credit(slot));
            });
            for (const NodePart& part : tree_.given | std::views::reverse)
                receive(slot_of(part), peer_of(part), part.nodes);
            if (!is_top()) send(far_slot(), here_.partner(tree_.from), tree_.got.nodes);
        } else {
            const std::uint32_t slot = numbers_.node_rank(here_.local);
            writer_.await_credit(holder(), numbers_.credit(slot));
            writer_->put(holder(), slot, writer_.input(own_));
            for (const NodePart& part : tree_.given | std::views::reverse)
                if (part.port == here_.local) pass(part, Towards::holder);
        }
        reserve();
    }

    void scatter() {
        kept_ = is_top() ? plan::Buffer::input : plan::Buffer::scratch;
        if (is_holder()) {
            if (!is_top()) receive(far_slot(), here_.partner(tree_.from), tree_.got.nodes);
            for (const NodePart& part : tree_.given) send(slot_of(part), peer_of(part), part.nodes);
            for_each_peer([&](Rank peer, std::uint32_t slot) {
                writer_.await_credit(peer, numbers_.credit(slot));
                writer_->put(peer, slot, kept(static_cast<std::uint32_t>(peer), 1));
            });
            writer_->copy(writer_.output(own_), kept(own_, 1));
        } else {
            for (const NodePart& part : tree_.given)
                if (part.port == here_.local) pass(part, Towards::other_node);
            const std::uint32_t slot = numbers_.node_rank(here_.local);
            writer_->wait(holder(), slot);
            writer_->copy(writer_.output(own_), writer_.slot(slot, own_));
            writer_.give_credit(holder(), numbers_.credit(slot));
        }
        reserve();
    }

  private:
    void send(std::uint32_t slot, Rank to, NodeWindow nodes) {
        writer_.await_credit(to, numbers_.credit(slot));
        writer_->put(to, slot, kept(nodes));
    }
    void receive(std::uint32_t slot, Rank from, NodeWindow nodes) {
        writer_->wait(from, slot);
        writer_->copy(kept(nodes), in_slot(slot, nodes));
        writer_.give_credit(from, numbers_.credit(slot));
    }

    enum class Towards : std::uint8_t { holder, other_node };
    /// Forwards a part between the holder and another node; the steps of a port.
    void pass(const NodePart& part, Towards towards) {
        std::uint32_t from_slot = numbers_.far(part.level);
        std::uint32_t to_slot = numbers_.near(part.level, part.port);
        Rank from = here_.partner(part.nodes.first);
        Rank to = holder();
        if (towards == Towards::other_node) {
            std::swap(from_slot, to_slot);
            std::swap(from, to);
        }
        writer_->wait(from, from_slot);
        writer_.await_credit(to, numbers_.credit(to_slot));
        writer_->put(to, to_slot, in_slot(from_slot, part.nodes));
        writer_->flush();
        writer_.give_credit(from, numbers_.credit(from_slot));
    }

    [[nodiscard]] bool is_top() const { return tree_.from == plan::kNoRank; }
    [[nodiscard]] bool is_holder() const { return here_.local == tree_.holder; }
    [[nodiscard]] Rank holder() const { return here_.node_rank(tree_.holder); }
    [[nodiscard]] std::uint32_t far_slot() const { return numbers_.far(tree_.got.level); }
    /// Returns true if the holder sends this part itself, because it is the part's port.
    [[nodiscard]] bool is_own(const NodePart& part) const { return part.port == here_.local; }
    [[nodiscard]] std::uint32_t slot_of(const NodePart& part) const {
        return is_own(part) ? numbers_.far(part.level) : numbers_.near(part.level, part.port);
    }
    [[nodiscard]] Rank peer_of(const NodePart& part) const {
        return is_own(part) ? here_.partner(part.nodes.first) : here_.node_rank(part.port);
    }
    /// Calls visit(rank, number of its messages with the holder) for the local peers.
    template <class Visit>
    void for_each_peer(Visit visit) const {
        for (Rank k = 1; k < here_.count; ++k) {
            const Rank local = (here_.local + k) % here_.count;
            visit(here_.node_rank(local), numbers_.node_rank(local));
        }
    }

    /// Returns blocks in the buffer where this rank keeps them: the root's own
    /// buffer, else scratch.
    [[nodiscard]] plan::Block kept(std::uint32_t first, std::uint32_t count) const {
        if (kept_ == plan::Buffer::scratch) return writer_.scratch(0, first, count);
        return kept_ == plan::Buffer::input ? writer_.input(first, count)
                                            : writer_.output(first, count);
    }
    [[nodiscard]] std::vector<plan::Block> kept(NodeWindow nodes) const {
        return blocks_of_nodes(here_.layout, nodes, [&](std::uint32_t first, std::uint32_t count) {
            return kept(first, count);
        });
    }
    [[nodiscard]] std::vector<plan::Block> in_slot(std::uint32_t slot, NodeWindow nodes) const {
        return blocks_of_nodes(here_.layout, nodes, [&](std::uint32_t first, std::uint32_t count) {
            return writer_.slot(slot, first, count);
        });
    }

    void reserve() {
        const Rank most = here_.layout.most();
        if (here_.layout.size() == 1) return;
        for (std::uint32_t level = 0; level < numbers_.levels; ++level) {
            const std::uint32_t units = ranks_at_most(here_.layout, sizes_[level]);
            writer_->reserve_capacity(numbers_.far(level), units);
            // If a part has fewer nodes than the radix, some ports are idle.
            const Rank nodes = level == 0 ? here_.nodes : sizes_[level - 1];
            for (Rank port = 0; port < here_.ports; ++port)
                writer_->reserve_capacity(numbers_.near(level, port),
                                          most > 1 && port + 1 < nodes ? units : 0);
        }
        for (Rank local = 0; local < most; ++local)
            writer_->reserve_capacity(numbers_.node_rank(local), most > 1 ? 1 : 0);
        writer_.reserve_credits(numbers_.slots(), numbers_.slots());
    }

    BlockWriter& writer_;
    NodePosition here_;
    NodeTree tree_;
    std::vector<Rank> sizes_;
    NodeTreeNumbers numbers_;
    std::uint32_t own_;
    plan::Buffer kept_ = plan::Buffer::scratch;
};

}  // namespace weft::collectives
