// SPDX-License-Identifier: BSD-3-Clause
// node_tree.cpp - `multi-object`: gather and scatter in which every rank of a node forwards a part
// of the blocks.
//
// Idea     A scatter goes down the tree of generate/node_tree.hpp. A gather goes up, with all
//          messages reversed. Holders and ports put blocks to each other.
//          A scatter of long blocks exposes them to local peers instead. The blocks of a node go
//          down the tree together (one by one in pipelines, or if they do not adjoin). The holder
//          exposes to each rank its own block, and to each port the blocks that the port forwards.
//          Ranks copy their block, ports put blocks to the next node. Both read the root's buffer,
//          or the slot into which the blocks were put. Blocks for the most distant nodes are first,
//          blocks for the holder's own node last.
// Source   Huang et al., PiP-MColl, section III-A1, with its shared receive buffers, here for any
//          number of nodes and any root. The paper gathers only within nodes.
// Rounds   Over the network ceil(log_B N) for N nodes, with B = ports + 1; on the node one more.
//          Exposed blocks need one message over the network for each destination node.
// Bytes    Over the network the blocks of all other nodes leave (reach) the root's node. Each port
//          carries a part of them. An exposed block is copied once, by its destination rank.
// Memory   Slots for the parts of each level, and one scratch buffer on ranks that hold blocks of
//          other nodes. For exposed blocks a slot for the blocks of each node, and no scratch.
// Good for Many nodes with several ranks.
// Holds    Not synchronizing: pipelines have a credit for each slot, or for each port's part. The
//          number of a message with exposed blocks is the rank of its first block, because a rank
//          receives each block from one sender.
#include "collectives/generate/node_tree.hpp"

#include <ranges>

#include "collectives/entries.hpp"

namespace weft::collectives {

namespace {

/// Numbers of slots and credits for both directions; equal on all ranks.
struct NodeTreeNumbers {
    std::uint32_t levels = 0;
    std::uint32_t ports = 0;
    std::uint32_t most = 0;  ///< ranks of the largest node

    // Slots: `far` for a level's messages over the network, `near` for messages between holder and
    // port, and `own_block` for the block of a local rank.
    [[nodiscard]] std::uint32_t far(std::uint32_t level) const { return level; }
    [[nodiscard]] std::uint32_t near(std::uint32_t level, Rank port) const {
        return levels + level * ports + as_u32(port);
    }
    [[nodiscard]] std::uint32_t own_block(Rank local) const {
        return levels * (1 + ports) + as_u32(local);
    }
    [[nodiscard]] std::uint32_t credit(std::uint32_t slot) const { return slots() + slot; }
    [[nodiscard]] std::uint32_t slots() const { return levels * (1 + ports) + most; }
};

/// Steps of one rank along the tree: down (scatter), or up (gather) with all messages reversed.
class NodeTreeBlocks {
  public:
    NodeTreeBlocks(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer), here_(request), tree_(here_, request.root, here_.ports + 1) {}

    void gather() {
        kept_ = is_top() ? plan::Buffer::output : plan::Buffer::scratch;
        if (is_holder()) {
            writer_->copy(kept(own_, 1), writer_.input(own_));
            for (const Rank peer : here_.others()) {
                const auto block = as_u32(peer);
                const std::uint32_t slot = numbers_.own_block(here_.layout.local_of(peer));
                writer_->wait(peer, slot);
                writer_->copy(kept(block, 1), writer_.slot(slot, block));
                writer_.give_credit(peer, numbers_.credit(slot));
            }
            for (const NodePart& part : tree_.child_parts | std::views::reverse)
                receive(slot_of(part), peer_of(part), part.nodes);
            if (!is_top()) send(far_slot(), here_.partner(tree_.from), tree_.own_part.nodes);
        } else {
            const std::uint32_t slot = numbers_.own_block(here_.local);
            writer_.await_credit(holder(), numbers_.credit(slot));
            writer_->put(holder(), slot, writer_.input(own_));
            for (const NodePart& part : tree_.child_parts | std::views::reverse)
                if (is_own(part)) forward(part, Towards::holder);
        }
        reserve();
    }

    void scatter() {
        kept_ = is_top() ? plan::Buffer::input : plan::Buffer::scratch;
        if (is_holder()) {
            if (!is_top()) receive(far_slot(), here_.partner(tree_.from), tree_.own_part.nodes);
            for (const NodePart& part : tree_.child_parts)
                send(slot_of(part), peer_of(part), part.nodes);
            for (const Rank peer : here_.others()) {
                const std::uint32_t slot = numbers_.own_block(here_.layout.local_of(peer));
                writer_.await_credit(peer, numbers_.credit(slot));
                writer_->put(peer, slot, kept(as_u32(peer), 1));
            }
            writer_->copy(writer_.output(own_), kept(own_, 1));
        } else {
            for (const NodePart& part : tree_.child_parts)
                if (is_own(part)) forward(part, Towards::other_node);
            const std::uint32_t slot = numbers_.own_block(here_.local);
            writer_->wait(holder(), slot);
            writer_->copy(writer_.output(own_), writer_.slot(slot, own_));
            writer_.give_credit(holder(), numbers_.credit(slot));
        }
        reserve();
    }

  private:
    // Send the blocks of nodes from this rank's buffer (kept_), or receive them into it.
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
    /// Forwards a part between the holder and another node; run by a port that is not the holder.
    void forward(const NodePart& part, Towards towards) {
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

    /// Returns true on the root's node.
    [[nodiscard]] bool is_top() const { return tree_.from == plan::kNoRank; }
    [[nodiscard]] bool is_holder() const { return here_.local == tree_.holder; }
    [[nodiscard]] Rank holder() const { return here_.node_rank(tree_.holder); }
    [[nodiscard]] std::uint32_t far_slot() const { return numbers_.far(tree_.own_part.level); }
    /// Returns true if this rank is the part's port. A holder then sends the part itself.
    [[nodiscard]] bool is_own(const NodePart& part) const { return part.port == here_.local; }
    [[nodiscard]] std::uint32_t slot_of(const NodePart& part) const {
        return is_own(part) ? numbers_.far(part.level) : numbers_.near(part.level, part.port);
    }
    [[nodiscard]] Rank peer_of(const NodePart& part) const {
        return is_own(part) ? here_.partner(part.nodes.first) : here_.node_rank(part.port);
    }

    /// Returns blocks in this rank's buffer for the blocks of its subtree.
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
        writer_->reserve_capacities(numbers_.own_block(0), numbers_.most, most > 1 ? 1 : 0);
        writer_.reserve_credits(numbers_.slots(), numbers_.slots());
    }

    BlockWriter& writer_;
    NodePosition here_;
    NodeTree tree_;
    std::vector<Rank> sizes_ = part_sizes(here_.nodes, here_.ports + 1);
    NodeTreeNumbers numbers_{as_u32(sizes_.size()), as_u32(here_.ports),
                             as_u32(here_.layout.most())};
    std::uint32_t own_ = as_u32(here_.rank);
    plan::Buffer kept_ = plan::Buffer::scratch;  ///< on the root's node input or output
};

/// Writes the scatter of exposed blocks.
class ExposedTreeBlocks {
  public:
    ExposedTreeBlocks(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer), request_(request) {}

    void scatter() {
        if (here_.local == tree_.holder)
            write_holder();
        else
            write_other();
        reserve();
    }

  private:
    /// Sends or exposes all blocks that this node receives; run by the holder.
    void write_holder() {
        const bool top = tree_.from == plan::kNoRank;
        const NodeWindow all = top ? NodeWindow{here_.node, here_.nodes} : tree_.own_part.nodes;
        for (const NodePart& part : tree_.child_parts)
            if (part.port == here_.local) await_credit(part);
        for_each_run_of(all, [&](Rank node, std::uint32_t first, std::uint32_t count) {
            const plan::Block run =
                top ? writer_.input(first, count) : writer_.slot(first, first, count);
            if (!top) writer_->wait(here_.partner(tree_.from), first);
            if (node == here_.node) {
                for (std::uint32_t i = 0; i < count; ++i) deliver_here(first + i, run);
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
        if (!top) writer_.give_credit(here_.partner(tree_.from), credit(tree_.own_part.level));
    }
    /// Copies the block of `rank`, part of `run`, to the output if it is this rank's, else exposes
    /// it to that local peer.
    void deliver_here(std::uint32_t rank, plan::Block run) {
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

    /// Copies this rank's block, and forwards the blocks of this port; run by all ranks of the node
    /// but the holder.
    void write_other() {
        const Rank holder = here_.node_rank(tree_.holder);
        const auto exposed = [&](std::uint32_t first, std::uint32_t count) {
            writer_->wait(holder, first);
            return at_peer(holder, writer_.slot(first, first, count));
        };
        for (const NodePart& part : tree_.child_parts) {
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
        peers_.signal_done(holder);
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
        const auto found = std::ranges::find_if(tree_.child_parts, [&](const NodePart& part) {
            const auto after = static_cast<Rank>((node - part.nodes.first) % here_.nodes);
            return (after + here_.nodes) % here_.nodes < part.nodes.count;
        });
        return *found;
    }

    void await_credit(const NodePart& part) {
        writer_.await_credit(here_.partner(part.nodes.first), credit(part.level));
    }
    [[nodiscard]] std::uint32_t credit(std::uint32_t level) const {
        return as_u32(here_.layout.size() + here_.layout.most()) + level;
    }
    void reserve() {
        const auto size = as_u32(here_.layout.size());
        if (size == 1) return;
        writer_->reserve_capacities(0, size, 0);
        if (here_.nodes > 1)
            for_each_run_of({0, here_.nodes}, [&](Rank, std::uint32_t first, std::uint32_t count) {
                writer_->reserve_capacity(first, count);
            });
        writer_->reserve_slots(credit(0));
        writer_.reserve_credits(credit(0), as_u32(levels_));
    }

    BlockWriter& writer_;
    const GenerateRequest& request_;
    NodePosition here_{request_};
    NodeTree tree_{here_, request_.root, here_.ports + 1};
    std::size_t levels_ = part_sizes(here_.nodes, here_.ports + 1).size();
    LocalPeers peers_{writer_.builder(), here_, LocalTransfer::in_place, as_u32(request_.size)};
    std::uint32_t own_ = as_u32(request_.rank);
};

/// Returns the bytes of the largest part, which is the largest payload from a holder to a port.
std::uint64_t largest_part_bytes(const GenerateRequest& request) {
    const plan::Layout layout = layout_of(request);
    const std::vector<Rank> parts = part_sizes(layout.nodes(), layout.least() + 1);
    return (parts.empty() ? 1 : ranks_at_most(layout, parts.front())) * block_bytes(request);
}

void write_gather(BlockWriter& writer, const GenerateRequest& request) {
    NodeTreeBlocks(writer, request).gather();
}

base::Result<LocalTransfer> read_transfer(const GenerateRequest& request) {
    return local_transfer(*request.spec, largest_part_bytes(request));
}

void write_scatter(BlockWriter& writer, const GenerateRequest& request, LocalTransfer local) {
    if (local == LocalTransfer::in_place)
        ExposedTreeBlocks(writer, request).scatter();
    else
        NodeTreeBlocks(writer, request).scatter();
}

}  // namespace

Algorithm gather_multi_object() {
    return {.collective = "gather",
            .name = "multi-object",
            .summary = "every rank of a node receives the blocks of some other nodes",
            .source = "Huang et al., PiP-MColl, section III-A1, reversed",
            .parameters = {kSegments},
            .properties = {.ordered = true, .bit_identical = true, .for_nodes = true},
            .generate = by_blocks({}, write_gather)};
}

Algorithm scatter_multi_object() {
    return {.collective = "scatter",
            .name = "multi-object",
            .summary = "every rank of a node passes on the blocks of some other nodes",
            .source = "Huang et al., PiP-MColl, section III-A1",
            .parameters = {kSegments, kNearParameter},
            .properties = {.ordered = true, .bit_identical = true, .for_nodes = true},
            .generate = by_blocks({}, read_transfer, write_scatter)};
}

}  // namespace weft::collectives
