// SPDX-License-Identifier: BSD-3-Clause
// node_tree_exposed.hpp - scatter along the tree of nodes, with blocks that local peers
// read in place.
//
// Idea     The blocks of a node go down the tree of node_tree.hpp together (one by one in
//          pipelines, or if they do not adjoin). The holder exposes blocks to its local peers: to
//          each rank its own block, to each port the blocks that it forwards. Ranks copy their
//          block, ports put theirs to the next node. Both read the root's buffer, or the slot that
//          the blocks were put to. Blocks for the most distant nodes are first, those for the
//          holder's own node last.
// Source   Huang et al., PiP-MColl, section III-A1, with its receive buffers that the ranks of
//          a node share.
// Rounds   As in node_tree.hpp. One message over the network for each node that the blocks are for.
// Bytes    A block is copied once, on its last node, by the rank that it is for. Nodes in between
//          do not copy it.
// Memory   A slot for the blocks of each node; no scratch.
// Holds    Not synchronizing: pipelines have a credit for each port's part. The number of a message
//          is the rank of its first block, because a rank receives each block from one sender.
// Next     near_way.hpp for exposed blocks.
#pragma once

#include "collectives/near_way.hpp"
#include "collectives/node_tree.hpp"

namespace weft::collectives {

class ExposedTreeBlocks {
  public:
    ExposedTreeBlocks(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer),
          request_(request),
          here_(request),
          tree_(here_, request.root, here_.ports + 1),
          levels_(part_sizes(here_.nodes, here_.ports + 1).size()),
          peers_(writer.builder(), here_, static_cast<std::uint32_t>(request.size)),
          own_(static_cast<std::uint32_t>(request.rank)) {}

    void scatter() {
        if (here_.local == tree_.holder)
            deal();
        else
            take();
        reserve();
    }

  private:
    /// Sends or exposes all blocks that this node receives; the steps of the holder.
    void deal() {
        const bool top = tree_.from == plan::kNoRank;
        const NodeWindow all = top ? NodeWindow{here_.node, here_.nodes} : tree_.got.nodes;
        for (const NodePart& part : tree_.given)
            if (part.port == here_.local) await_credit(part);
        for_each_run_of(all, [&](Rank node, std::uint32_t first, std::uint32_t count) {
            const plan::Block run =
                top ? writer_.input(first, count) : writer_.slot(first, first, count);
            if (!top) writer_->wait(here_.partner(tree_.from), first);
            if (node == here_.node) {
                for (std::uint32_t i = 0; i < count; ++i) deal_here(first + i, run);
                return;
            }
            const NodePart& part = part_with(node);
            if (part.port == here_.local)
                writer_->put(here_.partner(part.nodes.first), first, run);
            else
                writer_->expose(here_.node_rank(part.port), first, run);
        });
        writer_->flush();
        peers_.await_done();
        if (!top) writer_.give_credit(here_.partner(tree_.from), credit(tree_.got.level));
    }
    /// Copies a block of `run` to this rank's output, or exposes it to the local peer that
    /// it is for.
    void deal_here(std::uint32_t rank, plan::Block run) {
        plan::Block block = writer_.input(rank);
        if (run.buffer == plan::Buffer::slot) {
            block = writer_.slot(run.index, rank);
            block.origin = run.origin;
        }
        if (rank == own_)
            writer_->copy(writer_.output(own_), block);
        else
            writer_->expose(static_cast<Rank>(rank), rank, block);
    }

    /// Copies this rank's block, and forwards the blocks of this port; the steps of ranks
    /// except the holder.
    void take() {
        const Rank holder = here_.node_rank(tree_.holder);
        const auto exposed = [&](std::uint32_t first, std::uint32_t count) {
            writer_->wait(holder, first);
            return at_peer(holder, writer_.slot(first, first, count));
        };
        for (const NodePart& part : tree_.given) {
            if (part.port != here_.local) continue;
            await_credit(part);
            for_each_run_of(part.nodes, [&](Rank, std::uint32_t first, std::uint32_t count) {
                const plan::Block run = exposed(first, count);
                writer_->put(here_.partner(part.nodes.first), first, run);
            });
        }
        const plan::Block block = exposed(own_, 1);
        writer_->copy(writer_.output(own_), block);
        writer_->flush();
        peers_.tell_done(holder);
    }

    /// Calls visit(node, first, count) for the runs of blocks that are sent together. All ranks use
    /// the same order, from the last node to the first.
    template <class Visit>
    void for_each_run_of(NodeWindow nodes, Visit visit) const {
        for (Rank k = nodes.count - 1; k >= 0; --k) {
            const auto node = static_cast<Rank>((nodes.first + k) % here_.nodes);
            for_each_exposed_run(
                writer_, request_, here_.layout, {node, 1},
                [&](std::uint32_t first, std::uint32_t count) { visit(node, first, count); });
        }
    }
    /// Returns the part that contains a node.
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
        writer_->reserve_capacities(0, size, 0);
        if (here_.nodes > 1)
            for_each_run_of({0, here_.nodes}, [&](Rank, std::uint32_t first, std::uint32_t count) {
                writer_->reserve_capacity(first, count);
            });
        writer_->reserve_slots(credit(0));
        writer_.reserve_credits(credit(0), static_cast<std::uint32_t>(levels_));
    }

    BlockWriter& writer_;
    const GenerateRequest& request_;
    NodePosition here_;
    NodeTree tree_;
    std::size_t levels_;
    LocalPeers peers_;
    std::uint32_t own_;
};

}  // namespace weft::collectives
