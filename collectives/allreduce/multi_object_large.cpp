// SPDX-License-Identifier: BSD-3-Clause
// multi_object_large.cpp - allreduce of long vectors in which all ranks of a node use the network.
//
// Idea     The vector has one part for each port, and each part has one block for each node. On the
//          node every rank gives each port its part, and the port combines them. Then ports l of
//          all nodes communicate: each puts block m to node m, which combines that block of all
//          nodes. Finally, finished blocks go around the ring of nodes. A port that receives a
//          block gives it to its local peers at once. Parts and blocks of long vectors are exposed
//          to local peers instead of put. A port combines its part directly from the peers' inputs.
//          Peers copy finished blocks from the port's output and slots.
// Source   Huang et al., PiP-MColl, section III-B2. There, the number of blocks is the number of
//          nodes, and a port puts whole blocks to every P-th node. Here each port puts a P-th of
//          every block, so the numbers of nodes, ports and elements need not divide each other.
// Rounds   Over the network N for N nodes: one to combine, N-1 around the ring.
// Bytes    Over the network a node sends (N-1)/N of the vector to combine and (N-1)/N around the
//          ring, every port a P-th of it. On the node a rank sends its vector once, and a port
//          sends its finished blocks to each local peer.
// Memory   Slots for a part from each local peer, for a block from each node, and for the vector.
// Good for Long vectors on nodes with several ranks, if one rank cannot saturate the network.
// Holds    Rank order if nodes hold consecutive ranks. One rank combines each block, so results are
//          bit-identical. Synchronizing: in a pipeline a slot is reused only after every rank has
//          entered the piece before the last. A finished block has the same number on the whole
//          path (kShared); numbers of parts and nodes precede it. Exposed blocks are forwarded
//          before they are copied. A second lane of a port copies the blocks of other ports while
//          its ring continues. In place, a rank overwrites its input only after the port that
//          combined it has exposed the result.
// Next     ../node_position.hpp for ports; ../near_way.hpp; ../blocks.hpp for blocks.
#include <algorithm>

#include "collectives/entries.hpp"
#include "collectives/near_way.hpp"

namespace weft::collectives {

namespace {

class Writer {
  public:
    Writer(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer),
          here_(request),
          others_(here_.others()),
          nodes_(static_cast<std::uint32_t>(here_.nodes)),
          node_(static_cast<std::uint32_t>(here_.node)),
          most_(static_cast<std::uint32_t>(here_.layout.most())) {}

    void write_exposed() {
        const std::uint32_t numbers = number_of(ports() * nodes_);
        LocalPeers peers(writer_.builder(), here_, numbers);
        for (Rank k = 1; k <= here_.ports; ++k)
            if (const Rank port = (here_.local + k) % here_.ports; port != here_.local)
                writer_->expose(here_.node_rank(port), static_cast<std::uint32_t>(here_.local),
                                writer_.input(0, ports() * nodes_));
        if (here_.is_port()) {
            combine_part([&](Rank peer) {
                plan::Block part = writer_.input(first_of(here_.local), nodes_);
                part = at_peer(here_.node_rank(peer), part);
                part.index = static_cast<std::uint32_t>(peer);
                return part;
            });
            combine_block();
            send_around_exposed(peers);
            writer_->flush();
            peers.await_done();
            if (here_.ports > 1) {
                writer_->wait(here_.rank, numbers + most_);
                writer_.begin_lane();
            }
        }
        take_exposed_parts(peers);
        if (here_.is_port() && here_.ports > 1) writer_->signal(here_.rank, numbers + most_);
        reserve(NearWay::mapped);
        if (here_.layout.size() > 1) writer_->reserve_slots(numbers + most_ + 1);
    }

    void write() {
        give_parts();
        if (here_.is_port()) {
            combine_part([&](Rank peer) {
                return writer_.slot(static_cast<std::uint32_t>(peer), first_of(here_.local),
                                    nodes_);
            });
            combine_block();
            send_around();
        }
        for (Rank port = 0; port < here_.ports; ++port)
            if (port != here_.local) take_part(port);
        reserve(NearWay::put);
    }

  private:
    /// Puts to each port its part of this rank's input.
    void give_parts() {
        for (Rank k = 0; k < here_.ports; ++k) {
            const Rank port = (here_.local + 1 + k) % here_.ports;
            if (port == here_.local) continue;
            writer_->put(here_.node_rank(port), static_cast<std::uint32_t>(here_.local),
                         writer_.input(first_of(port), nodes_));
        }
    }

    /// Combines this port's part of all inputs. `part_of(local rank)` returns that rank's operand.
    template <class PartOf>
    void combine_part(PartOf part_of) {
        const std::uint32_t first = first_of(here_.local);
        std::vector<plan::Block> operands;
        for (Rank peer = 0; peer < here_.count; ++peer) {
            const auto number = static_cast<std::uint32_t>(peer);
            if (peer == here_.local) {
                operands.push_back(writer_.input(first, nodes_));
                continue;
            }
            writer_->wait(here_.node_rank(peer), number);
            operands.push_back(part_of(peer));
        }
        add(writer_.output(first, nodes_), operands);
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

    void send_around() {
        std::vector<Rank> receivers = others_;
        if (nodes_ > 1) receivers.insert(receivers.begin(), here_.partner(std::int64_t{node_} + 1));
        share(writer_.builder(), receivers, number_of(own(node_)), writer_.output(own(node_)));
        writer_->flush();  // before received blocks replace sent data
        for (std::uint32_t k = 1; k < nodes_; ++k) {
            const std::uint32_t block = own((node_ + nodes_ - k) % nodes_);
            take(here_.partner(std::int64_t{node_} - 1), block);
            share(writer_.builder(), k + 1 < nodes_ ? receivers : others_, number_of(block),
                  writer_.output(block));
        }
    }

    /// Sends finished blocks around the ring. Local peers copy them in place: the own block from
    /// the output, other blocks from slots.
    void send_around_exposed(LocalPeers& peers) {
        const auto next = [&] { return here_.partner(std::int64_t{node_} + 1); };
        const std::uint32_t finished = own(node_);
        if (nodes_ > 1) writer_->put(next(), number_of(finished), writer_.output(finished));
        peers.expose(number_of(finished), writer_.output(finished));
        writer_->flush();  // before received blocks replace sent data
        for (std::uint32_t k = 1; k < nodes_; ++k) {
            const std::uint32_t block = own((node_ + nodes_ - k) % nodes_);
            const plan::Block in_slot = writer_.slot(number_of(block), block);
            writer_->wait(here_.partner(std::int64_t{node_} - 1), number_of(block));
            if (k + 1 < nodes_) writer_->put(next(), number_of(block), in_slot);
            peers.expose(number_of(block), in_slot);
            writer_->copy(writer_.output(block), in_slot);
        }
    }
    void take_exposed_parts(LocalPeers& peers) {
        for (Rank port = 0; port < here_.ports; ++port) {
            if (port == here_.local) continue;
            const Rank from = here_.node_rank(port);
            for (std::uint32_t k = 0; k < nodes_; ++k) {
                const std::uint32_t block = first_of(port) + (node_ + nodes_ - k) % nodes_;
                const plan::Block there = at_peer(from, writer_.slot(number_of(block), block));
                writer_->wait(from, number_of(block));
                writer_->copy(writer_.output(block), there);
            }
            peers.tell_done(from);
        }
    }

    /// Receives the finished blocks of a port, in the order in which the port got them.
    void take_part(Rank port) {
        // Before results replace the parts that were put.
        if (!here_.is_port() && port == 0) writer_->flush();
        for (std::uint32_t k = 0; k < nodes_; ++k)
            take(here_.node_rank(port), first_of(port) + (node_ + nodes_ - k) % nodes_);
    }

    void take(Rank from, std::uint32_t block) {
        writer_->wait(from, number_of(block), plan::kShared);
        writer_->copy(writer_.output(block), writer_.slot(number_of(block), block));
    }

    void add(plan::Block target, const std::vector<plan::Block>& operands) {
        if (operands.size() == 1)
            writer_->copy(target, operands.front());
        else
            writer_->reduce(target, operands);
    }

    void reserve(NearWay near) {
        if (here_.layout.size() == 1) return;
        const bool put = near == NearWay::put;
        for (std::uint32_t peer = 0; peer < most_; ++peer)
            writer_->reserve_capacity(peer, most_ > 1 && put ? nodes_ : 0);
        for (std::uint32_t node = 0; node < nodes_; ++node)
            writer_->reserve_capacity(most_ + node, nodes_ > 1 ? 1 : 0);
        for (std::uint32_t block = 0; block < ports() * nodes_; ++block)
            writer_->reserve_capacity(number_of(block), put || nodes_ > 1 ? 1 : 0);
    }

    [[nodiscard]] std::uint32_t ports() const { return static_cast<std::uint32_t>(here_.ports); }
    [[nodiscard]] std::uint32_t first_of(Rank port) const {
        return static_cast<std::uint32_t>(port) * nodes_;
    }
    [[nodiscard]] std::uint32_t own(std::uint32_t node) const {
        return first_of(here_.local) + node;
    }
    [[nodiscard]] std::uint32_t number_of(std::uint32_t block) const {
        return most_ + nodes_ + block;
    }

    BlockWriter& writer_;
    NodePosition here_;
    std::vector<Rank> others_;
    std::uint32_t nodes_;
    std::uint32_t node_;
    std::uint32_t most_;
};

/// Returns the bytes of the largest part that a rank gives to a port.
std::uint64_t part_bytes(const GenerateRequest& request, const plan::Layout& layout) {
    const auto nodes = static_cast<std::uint32_t>(layout.nodes());
    const auto ports = static_cast<std::uint32_t>(layout.least());
    const plan::Partition blocks(request.elements, nodes * ports);
    std::uint64_t elements = 0;
    for (std::uint32_t port = 0; port < ports; ++port)
        elements = std::max(elements, blocks.size(port * nodes, nodes));
    return elements * request.element_bytes;
}

constexpr Properties kProperties{
    .ordered = true, .bit_identical = true, .synchronizing = true, .for_nodes = true};

base::Result<plan::Program> generate_large(const AlgorithmSpec& spec,
                                           const GenerateRequest& request) {
    const plan::Layout layout = layout_of(request);
    if (request.ordered && !layout.contiguous())
        return base::fail(Status::argument,
                          "allreduce multi-object-large keeps rank order where nodes hold "
                          "consecutive ranks, and the operation does not commute");
    const base::Result<NearWay> near = near_way(spec, part_bytes(request, layout));
    if (!near) return near.failure();
    return program_by_blocks({.collective = "allreduce",
                              .blocks = static_cast<std::uint32_t>(layout.nodes() * layout.least()),
                              .synchronizing = true},
                             spec, request, [&](BlockWriter& block_writer, const GenerateRequest&) {
                                 Writer writer(block_writer, request);
                                 if (*near == NearWay::mapped)
                                     writer.write_exposed();
                                 else
                                     writer.write();
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
        .properties = kProperties,
        .generate = &generate_large,
        .refine = &with_near_way<kProperties>,
    };
}

}  // namespace weft::collectives
