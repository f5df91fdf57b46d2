// SPDX-License-Identifier: BSD-3-Clause
// node_tree_exposed.hpp - scatter along the tree of nodes, of blocks that mates take from where
// they lie.
//
// Idea     Each block goes alone down the tree of node_tree.hpp. Who holds what a node has exposes
//          each block that a mate needs: to the mate it is for, or to the port that passes it on.
//          Mates copy theirs, ports put theirs to the next node, out of the root's vector or out of
//          the slot to which the block was put. Blocks for the most distant nodes go first, those
//          for the own node last.
// Source   Huang et al., PiP-MColl, section III-A1, with its receive buffers that ranks of a node
//          share.
// Rounds   As in node_tree.hpp. Messages over the network: a block each.
// Bytes    A block is copied once on its last node, by the rank it is for, and not at all on nodes
//          that it passes.
// Memory   A slot for each block; no scratch.
// Holds    Not synchronizing: in pieces there is a credit for each port's part. The number of a
//          block is its rank: a rank is given each block by one other.
// Next     near_way.hpp for exposed blocks.
#pragma once

#include "collectives/near_way.hpp"
#include "collectives/node_tree.hpp"

namespace weft::collectives {

class ExposedTreeBlocks {
  public:
    ExposedTreeBlocks(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer),
          here_(request),
          tree_(here_, request.root, here_.ports + 1),
          levels_(part_sizes(here_.nodes, here_.ports + 1).size()),
          mates_(writer.builder(), here_, static_cast<std::uint32_t>(request.size)),
          own_(static_cast<std::uint32_t>(request.rank)) {}

    void scatter() {
        if (here_.local == tree_.holder)
            deal();
        else
            take();
        reserve();
    }

  private:
    /// All that this node has for itself and for others.
    void deal() {
        const bool top = tree_.from == plan::kNoRank;
        const NodeWindow all = top ? NodeWindow{here_.node, here_.nodes} : tree_.got.nodes;
        for (const NodePart& part : tree_.given)
            if (part.port == here_.local) await_credit(part);
        for_each_block(all, [&](Rank node, Rank rank) {
            const auto number = static_cast<std::uint32_t>(rank);
            const plan::Block block = top ? writer_.input(number) : writer_.slot(number, number);
            if (!top) writer_->wait(here_.partner(tree_.from), number);
            if (node == here_.node) {
                deal_here(rank, block);
                return;
            }
            const NodePart& part = part_with(node);
            if (part.port == here_.local)
                writer_->put(here_.partner(part.nodes.first), number, block);
            else
                writer_->expose(here_.node_rank(part.port), number, block);
        });
        writer_->flush();
        mates_.await_done();
        if (!top) writer_.give_credit(here_.partner(tree_.from), credit(tree_.got.level));
    }
    void deal_here(Rank rank, plan::Block block) {
        const auto number = static_cast<std::uint32_t>(rank);
        if (rank == here_.rank)
            writer_->copy(writer_.output(own_), block);
        else
            writer_->expose(rank, number, block);
    }

    /// What the holder has for this rank, and what this rank passes on for it.
    void take() {
        const Rank holder = here_.node_rank(tree_.holder);
        const auto exposed = [&](std::uint32_t number) {
            writer_->wait(holder, number);
            return at_mate(holder, writer_.slot(number, number));
        };
        for (const NodePart& part : tree_.given) {
            if (part.port != here_.local) continue;
            await_credit(part);
            for_each_block(part.nodes, [&](Rank, Rank rank) {
                const auto number = static_cast<std::uint32_t>(rank);
                const plan::Block block = exposed(number);
                writer_->put(here_.partner(part.nodes.first), number, block);
            });
        }
        const plan::Block block = exposed(own_);
        writer_->copy(writer_.output(own_), block);
        writer_->flush();
        mates_.tell_done(holder);
    }

    /// Calls visit(node, rank) for the blocks of some nodes, in the order in which all pass them
    /// on: the last node's first.
    template <class Visit>
    void for_each_block(NodeWindow nodes, Visit visit) const {
        for (Rank k = nodes.count - 1; k >= 0; --k) {
            const auto node = static_cast<Rank>((nodes.first + k) % here_.nodes);
            for (Rank local = 0; local < here_.layout.ranks_on(node); ++local)
                visit(node, here_.layout.rank_at(node, local));
        }
    }
    /// The part that a node is in.
    [[nodiscard]] const NodePart& part_with(Rank node) const {
        const auto found = std::ranges::find_if(tree_.given, [&](const NodePart& part) {
            const auto after = static_cast<Rank>((node - part.nodes.first) % here_.nodes);
            return (after + here_.nodes) % here_.nodes < part.nodes.count;
        });
        return *found;
    }

    void await_credit(const NodePart& part) {
        writer_.await_credit(here_.partner(part.nodes.first), credit(part.level));
    }
    [[nodiscard]] std::uint32_t credit(std::uint32_t level) const {
        return static_cast<std::uint32_t>(here_.layout.size() + here_.layout.most()) + level;
    }
    void reserve() {
        const auto size = static_cast<std::uint32_t>(here_.layout.size());
        if (size == 1) return;
        for (std::uint32_t block = 0; block < size; ++block)
            writer_->reserve_capacity(block, here_.nodes > 1 ? 1 : 0);
        writer_->reserve_slots(credit(0));
        writer_.reserve_credits(credit(0), static_cast<std::uint32_t>(levels_));
    }

    BlockWriter& writer_;
    NodePosition here_;
    NodeTree tree_;
    std::size_t levels_;
    Mates mates_;
    std::uint32_t own_;
};

}  // namespace weft::collectives
