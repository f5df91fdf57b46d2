// SPDX-License-Identifier: BSD-3-Clause
// multi_object_ring.cpp - allgather of long blocks in which all ranks of a node use the network.
//
// Idea     Each port has its own ring: port l of every node passes blocks to port l of the next
//          node, its own block first. It shares each arriving block with its local peers. Ranks
//          that are not ports give their blocks to a port, which sends them after its own. Long
//          blocks are exposed to local peers instead of put. Peers copy them from the port's slots,
//          or from the input of their owner.
// Source   Huang et al., PiP-MColl, section III-B1. In the paper, one rank gathers the node's
//          blocks and distributes arriving blocks. Here each port does so for its own ring.
// Rounds   N-1 over the network for N nodes, and one on the node.
// Bytes    Over the network a port sends N-1 blocks, one in each round, if nodes have equal sizes.
// Memory   A slot for each block; none on a single node if blocks are exposed.
// Good for Long blocks on nodes with several ranks.
// Holds    Synchronizing; bits are only copied. On its whole path, the number of a block is its
//          owner's rank (kShared). Each rank receives every other block once, from the previous
//          node if its own ring carries the block, else from a local peer.
// Next     ../generate/node_position.hpp for ports; ../transfer.hpp; multi_object_bruck.cpp for
//          short blocks.
#include "collectives/entries.hpp"
#include "collectives/generate/node_ring.hpp"

namespace weft::collectives {

namespace {

class NodeRingAllgather {
  public:
    NodeRingAllgather(BlockWriter& writer, const GenerateRequest& request, LocalTransfer transfer)
        : writer_(writer), here_(request), transfer_(transfer), size_(as_u32(request.size)) {
        writer_->reserve_steps(4 * static_cast<std::size_t>(request.size));
    }

    void write() {
        const std::uint32_t own = block_of(here_.rank);
        if (in_place_) ring_.start(own, writer_.input(own));
        writer_->copy(writer_.output(own), writer_.input(own));
        if (!in_place_) ring_.start(own, writer_.output(own));
        if (here_.is_port())
            pass_blocks();
        else if (in_place_)
            read_signals_.await_done(here_.node_rank(here_.local % here_.ports));
        if (in_place_) return finish_in_place();
        copy_from_peers();
        reserve(size_);
    }

  private:
    /// Forwards the blocks of local peers without a ring, then the blocks from other nodes.
    void pass_blocks() {
        for (const Rank rank : remainders(here_.node, here_.local)) {
            const std::uint32_t block = block_of(rank);
            ring_.take(rank, block);
            if (in_place_) read_signals_.signal_done(rank);
            if (here_.nodes > 1) ring_.put_to_next_node(block, writer_.output(block));
        }
        for (Rank k = 1; k < here_.nodes; ++k) {
            const Rank node = (here_.node - k + here_.nodes) % here_.nodes;
            const bool forwards = k + 1 < here_.nodes;
            ring_.pass(block_of(here_.layout.rank_at(node, here_.local)), forwards);
            for (const Rank rank : remainders(node, here_.local))
                ring_.pass(block_of(rank), forwards);
        }
    }

    /// Copies the blocks of local peers in a second lane, while the ring continues in the first.
    /// The first lane ends a piece when the second lane and the local peers are done.
    void finish_in_place() {
        const std::uint32_t own_lane = size_ + 2 * most_;  // number of the signal between the lanes
        const std::vector<Rank> others = here_.others();
        LocalPeers peers(writer_.builder(), here_, LocalTransfer::in_place, size_);
        writer_->flush();
        for (const Rank peer : others)
            if (!ring_carries(peer, here_.rank)) peers.await_done(peer);
        if (here_.node_size > 1 && (here_.ports > 1 || here_.local > 0)) {
            writer_->wait(here_.rank, own_lane);
            writer_.begin_lane();
            copy_from_peers();
            for (const Rank peer : others)
                if (!ring_carries(here_.rank, peer)) peers.signal_done(peer);
            writer_->signal(here_.rank, own_lane);
        }
        reserve(own_lane + 1);
    }

    /// Returns true if the ring of `port` carries the block of `peer`. The port reads no other
    /// block from `peer`, so pass_blocks() signals when it has read that block.
    [[nodiscard]] bool ring_carries(Rank port, Rank peer) const {
        return here_.layout.local_of(peer) % here_.ports == here_.layout.local_of(port);
    }

    /// Returns the ranks of a node that have no ring and whose blocks the ring of `port` carries.
    [[nodiscard]] std::vector<Rank> remainders(Rank node, Rank port) const {
        std::vector<Rank> ranks;
        for (Rank local = port + here_.ports; local < here_.layout.ranks_on(node);
             local += here_.ports)
            ranks.push_back(here_.layout.rank_at(node, local));
        return ranks;
    }

    /// Copies the blocks of other rings, in the order of arrival: blocks of this node from their
    /// owner, others from the ring's port.
    void copy_from_peers() {
        for (Rank k = 0; k < here_.nodes; ++k) {
            const Rank node = (here_.node - k + here_.nodes) % here_.nodes;
            for (Rank local = 0; local < here_.layout.ranks_on(node); ++local) {
                const Rank port = local % here_.ports;
                if (port == here_.local) continue;
                const Rank block = here_.layout.rank_at(node, local);
                if (block == here_.rank) continue;
                ring_.take(k == 0 ? block : here_.node_rank(port), block_of(block));
            }
        }
    }

    /// Reserves slots for blocks, and numbers for signals.
    void reserve(std::uint32_t numbers) {
        if (size_ == 1) return;
        writer_->reserve_capacities(0, size_, !in_place_ || here_.nodes > 1 ? 1 : 0);
        writer_->reserve_slots(numbers);
    }

    [[nodiscard]] static std::uint32_t block_of(Rank rank) { return as_u32(rank); }

    BlockWriter& writer_;
    NodePosition here_;
    LocalTransfer transfer_;
    std::uint32_t size_;
    bool in_place_ = transfer_ == LocalTransfer::in_place;
    NodeRing ring_{writer_, here_, transfer_, 0};
    std::uint32_t most_ = as_u32(here_.layout.most());  ///< ranks of the largest node
    /// Signals that a port has read the block of a rank without a ring.
    LocalPeers read_signals_{writer_.builder(), here_, transfer_, size_ + most_};
};

base::Result<LocalTransfer> read_transfer(const GenerateRequest& request) {
    return local_transfer(*request.spec, block_bytes(request));
}

void write_ring(BlockWriter& writer, const GenerateRequest& request, LocalTransfer transfer) {
    NodeRingAllgather(writer, request, transfer).write();
}

}  // namespace

Algorithm allgather_multi_object_ring() {
    return {.collective = "allgather",
            .name = "multi-object-ring",
            .summary = "a ring of nodes for each rank of a node, which shares passing blocks",
            .source = "Huang et al., PiP-MColl, section III-B1",
            .parameters = {kTriedSegments, kNearParameter},
            .properties = {.ordered = true,
                           .bit_identical = true,
                           .synchronizing = true,
                           .for_nodes = true},
            .generate = by_blocks({}, read_transfer, write_ring)};
}

}  // namespace weft::collectives
