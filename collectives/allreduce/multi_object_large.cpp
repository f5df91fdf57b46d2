// SPDX-License-Identifier: BSD-3-Clause
// multi_object_large.cpp - allreduce of long vectors in which all ranks of a node use the network.
//
// Idea     The vector has one part for each port, and each part has one block for each node. On the
//          node every rank puts to each port its part, and the port combines these. Then ports l of
//          all nodes communicate: each puts block m of its part to node m, which combines that
//          block of all nodes. Finally, finished blocks go around the ring of nodes. A port shares
//          a received block with its local peers at once. Parts and blocks of long vectors are
//          exposed to local peers instead of put. A port combines its part directly from the peers'
//          inputs. Peers copy finished blocks from the port's output and slots.
// Source   Huang et al., PiP-MColl, section III-B2. In the paper, the number of blocks is the
//          number of nodes, and a port puts whole blocks to every P-th node (P ports). Here each
//          port puts a P-th of every block, so the numbers of nodes, ports and elements need not
//          divide each other.
// Rounds   Over the network N for N nodes: one to combine, N-1 around the ring.
// Bytes    Over the network a node sends (N-1)/N of the vector to combine and (N-1)/N around the
//          ring, every port a P-th of it. On the node a rank sends its vector once, and a port
//          sends its finished blocks to each local peer.
// Memory   Slots for a part from each local peer, for a block from each node, and for the vector.
// Good for Long vectors on nodes with several ranks, if one rank cannot saturate the network.
// Holds    Rank order if nodes hold consecutive ranks. One rank combines each block, so results are
//          bit-identical. Synchronizing: in a pipeline a slot is reused only after every rank has
//          entered the piece before the last. A finished block has the same number on the whole
//          path (kShared). Put numbers: one for each local rank (parts), one for each node (blocks
//          to combine), one for each finished block, done signals. In place, a rank overwrites its
//          input only after the port that combined it has exposed the result.
// Next     ../generate/node_position.hpp for ports; ../transfer.hpp; ../generate/blocks.hpp.
#include <algorithm>

#include "collectives/entries.hpp"
#include "collectives/generate/node_ring.hpp"

namespace weft::collectives {

namespace {

class NodePartsAllreduce {
  public:
    NodePartsAllreduce(BlockWriter& writer, const GenerateRequest& request, LocalTransfer transfer)
        : writer_(writer),
          here_(request),
          in_place_(transfer == LocalTransfer::in_place),
          nodes_(as_u32(here_.nodes)),
          node_(as_u32(here_.node)),
          ports_(as_u32(here_.ports)),
          most_(as_u32(here_.layout.most())),
          ring_(writer, here_, transfer, most_ + nodes_),
          first_done_(most_ + nodes_ + ports_ * nodes_),
          peers_(writer.builder(), here_, transfer, first_done_) {}

    void write() {
        // A second lane of a port copies the blocks of other ports while its ring continues.
        const std::uint32_t own_lane = first_done_ + most_;  // number of the signal between lanes
        const bool two_lanes = in_place_ && here_.is_port() && here_.ports > 1;
        share_parts();
        if (here_.is_port()) {
            combine_part();
            combine_block();
            send_around();
            if (in_place_) {
                writer_->flush();
                peers_.await_done();
            }
        }
        if (two_lanes) {
            writer_->wait(here_.rank, own_lane);
            writer_.begin_lane();
        }
        for (Rank port = 0; port < here_.ports; ++port)
            if (port != here_.local) receive_part(port);
        if (two_lanes) writer_->signal(here_.rank, own_lane);
        reserve(own_lane + 1);
    }

  private:
    /// Puts to each port its part of this rank's input, or exposes the input.
    void share_parts() {
        for (Rank k = 1; k <= here_.ports; ++k) {
            const Rank port = (here_.local + k) % here_.ports;
            if (port == here_.local) continue;
            const auto number = as_u32(here_.local);
            if (in_place_)
                writer_->expose(here_.node_rank(port), number, writer_.input(0, ports_ * nodes_));
            else
                writer_->put(here_.node_rank(port), number, writer_.input(first_of(port), nodes_));
        }
    }

    /// Combines this port's part of all inputs.
    void combine_part() {
        const std::uint32_t first = first_of(here_.local);
        std::vector<plan::Block> operands;
        for (Rank peer = 0; peer < here_.count; ++peer) {
            const auto number = as_u32(peer);
            if (peer != here_.local) writer_->wait(here_.node_rank(peer), number);
            plan::Block part = writer_.input(first, nodes_);
            if (peer != here_.local && in_place_) {
                part = at_peer(here_.node_rank(peer), part);
                part.index = number;
            } else if (peer != here_.local) {
                part = writer_.slot(number, first, nodes_);
            }
            operands.push_back(part);
        }
        writer_.combine(writer_.output(first, nodes_), operands);
    }

    /// Puts block m to node m, and combines this node's block of all nodes.
    void combine_block() {
        for (std::uint32_t k = 1; k < nodes_; ++k) {
            const std::uint32_t node = (node_ + k) % nodes_;
            writer_->put(here_.partner(node), most_ + node_, writer_.output(own(node)));
        }
        std::vector<plan::Block> operands;
        for (std::uint32_t node = 0; node < nodes_; ++node) {
            if (node == node_) {
                operands.push_back(writer_.output(own(node_)));
                continue;
            }
            writer_->wait(here_.partner(node), most_ + node);
            operands.push_back(writer_.slot(most_ + node, own(node_)));
        }
        if (nodes_ > 1) writer_->reduce(writer_.output(own(node_)), operands);
    }

    /// Sends finished blocks around the ring. Local peers copy exposed blocks in place: the own
    /// block from the output, other blocks from slots.
    void send_around() {
        ring_.start(own(node_), writer_.output(own(node_)));
        writer_->flush();  // before received blocks replace sent data
        for (std::uint32_t k = 1; k < nodes_; ++k)
            ring_.pass(own((node_ + nodes_ - k) % nodes_), k + 1 < nodes_);
    }

    /// Receives the finished blocks of a port, in the order in which the port receives them.
    void receive_part(Rank port) {
        // In place, results replace the parts that share_parts() has put.
        if (!in_place_ && !here_.is_port() && port == 0) writer_->flush();
        const Rank from = here_.node_rank(port);
        for (std::uint32_t k = 0; k < nodes_; ++k)
            ring_.take(from, first_of(port) + (node_ + nodes_ - k) % nodes_);
        if (in_place_) peers_.signal_done(from);
    }

    void reserve(std::uint32_t numbers) {
        if (here_.layout.size() == 1) return;
        writer_->reserve_capacities(0, most_, most_ > 1 && !in_place_ ? nodes_ : 0);
        writer_->reserve_capacities(most_, nodes_, nodes_ > 1 ? 1 : 0);
        writer_->reserve_capacities(most_ + nodes_, ports_ * nodes_,
                                    !in_place_ || nodes_ > 1 ? 1 : 0);
        if (in_place_) writer_->reserve_slots(numbers);
    }

    /// Returns the first block of a port's part.
    [[nodiscard]] std::uint32_t first_of(Rank port) const { return as_u32(port) * nodes_; }
    /// Returns the block of a node in this port's part.
    [[nodiscard]] std::uint32_t own(std::uint32_t node) const {
        return first_of(here_.local) + node;
    }

    BlockWriter& writer_;
    NodePosition here_;
    bool in_place_;
    std::uint32_t nodes_;
    std::uint32_t node_;
    std::uint32_t ports_;
    std::uint32_t most_;  ///< ranks of the largest node
    NodeRing ring_;
    std::uint32_t first_done_;  ///< first number of done signals
    LocalPeers peers_;
};

/// Returns the bytes of the largest port's part of the vector.
std::uint64_t part_bytes(const GenerateRequest& request, const plan::Layout& layout) {
    const auto nodes = as_u32(layout.nodes());
    const auto ports = as_u32(layout.least());
    const plan::Partition blocks(request.elements, nodes * ports);
    std::uint64_t elements = 0;
    for (std::uint32_t port = 0; port < ports; ++port)
        elements = std::max(elements, blocks.size(port * nodes, nodes));
    return elements * request.element_bytes;
}

base::Result<plan::Program> generate_large(const AlgorithmSpec& spec,
                                           const GenerateRequest& request) {
    const plan::Layout layout = layout_of(request);
    if (request.ordered && !layout.contiguous())
        return base::fail(Status::argument,
                          "allreduce multi-object-large keeps rank order where nodes hold "
                          "consecutive ranks, and the operation does not commute");
    const auto transfer = local_transfer(spec, part_bytes(request, layout));
    if (!transfer) return transfer.failure();
    return program_by_blocks({.collective = "allreduce",
                              .blocks = as_u32(layout.nodes() * layout.least()),
                              .lane_depth = 1,
                              .synchronizing = true},
                             spec, request, [&](BlockWriter& writer, const GenerateRequest&) {
                                 NodePartsAllreduce(writer, request, *transfer).write();
                             });
}

}  // namespace

Algorithm allreduce_multi_object_large() {
    return {
        .collective = "allreduce",
        .name = "multi-object-large",
        .summary = "every rank of a node combines and passes on its part over the network",
        .source = "Huang et al., PiP-MColl, section III-B2",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}, kNearParameter},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = true,
                       .for_nodes = true},
        .generate = &generate_large,
    };
}

}  // namespace weft::collectives
