// SPDX-License-Identifier: BSD-3-Clause
// multi_object_ring.cpp - allgather of long blocks in which all ranks of a node use the network.
//
// Idea     Each port has its own ring: port l of every node passes blocks to port l of the next
//          node, its own block first. It gives each block to its local peers when it arrives. Ranks
//          that are not ports give their blocks to a port, which sends them after its own. Long
//          blocks are exposed to local peers instead of put. Peers copy them from the port's slots,
//          or from the input of their owner.
// Source   Huang et al., PiP-MColl, section III-B1. There, one rank gathers the node's blocks and
//          distributes arriving ones. Here each port does both for its own ring.
// Rounds   N-1 over the network for N nodes, and one on the node.
// Bytes    Over the network a port sends N-1 blocks, one in each round, if nodes have equal sizes.
// Memory   A slot for each block. If blocks are exposed, only for blocks from other nodes.
// Good for Long blocks on nodes with several ranks.
// Holds    Synchronizing; bits are only copied. The number of a block is its rank on the whole path
//          (kShared). Each rank receives every other block once, from the previous node if its own
//          ring carries the block, else from a local peer. Exposed blocks are forwarded before they
//          are copied. A second lane copies the blocks of local peers while the ring continues. The
//          ring's lane starts the next piece when the second lane and the local peers are done.
// Next     ../node_position.hpp for ports; ../near_way.hpp; multi_object_bruck.cpp for short ones.
#include "collectives/entries.hpp"
#include "collectives/near_way.hpp"

namespace weft::collectives {

namespace {

class Writer {
  public:
    Writer(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer), here_(request), others_(here_.others()) {
        writer_->reserve_steps(4 * static_cast<std::size_t>(request.size));
    }

    void write_exposed() {
        const auto size = static_cast<std::uint32_t>(here_.layout.size());
        const auto most = static_cast<std::uint32_t>(here_.layout.most());
        const std::uint32_t own_lane = size + 2 * most;
        LocalPeers peers(writer_.builder(), here_, size);
        LocalPeers takers(writer_.builder(), here_,
                          size + most);  // for blocks of ranks without a ring
        begin(peers);
        if (here_.is_port()) {
            for (const Rank rank : remainders(here_.node, here_.local)) {
                take_exposed(rank, rank);
                takers.tell_done(rank);
                if (here_.nodes > 1) put_on(writer_.output(static_cast<std::uint32_t>(rank)), rank);
            }
            go_around(peers);
        } else {
            takers.await_done(here_.node_rank(here_.local % here_.ports));
        }
        writer_->flush();
        for (const Rank peer : others_)
            if (!passes_on(peer, here_.rank)) peers.await_done(peer);
        if (here_.count > 1 && (here_.ports > 1 || here_.local > 0)) {
            writer_->wait(here_.rank, own_lane);
            writer_.begin_lane();
            for_each_of_peers([&](Rank from, Rank block) { take_exposed(from, block); });
            for (const Rank peer : others_)
                if (!passes_on(here_.rank, peer)) peers.tell_done(peer);
            writer_->signal(here_.rank, own_lane);
        }
        reserve(own_lane + 1);
    }

    void write() {
        const auto own = static_cast<std::uint32_t>(here_.rank);
        writer_->copy(writer_.output(own), writer_.input(own));
        if (!here_.is_port()) {
            pass(others_, here_.rank);
        } else {
            std::vector<Rank> next = others_;
            if (here_.nodes > 1)
                next.insert(next.begin(), here_.partner(std::int64_t{here_.node} + 1));
            pass(next, here_.rank);
            // The blocks of local peers without a ring, which put their block to all ranks
            // of the node.
            for (const Rank rank : remainders(here_.node, here_.local)) {
                take(rank, rank);
                if (here_.nodes > 1) pass({here_.partner(std::int64_t{here_.node} + 1)}, rank);
            }
            for_each_that_passes([&](Rank from, Rank block, bool goes_on) {
                take(from, block);
                pass(goes_on ? next : others_, block);
            });
        }
        for_each_of_peers([&](Rank from, Rank block) { take(from, block); });
        reserve(static_cast<std::uint32_t>(here_.layout.size()));
    }

  private:
    /// Sends the own block to local peers and to the next node, directly from the input.
    void begin(LocalPeers& peers) {
        const auto own = static_cast<std::uint32_t>(here_.rank);
        if (here_.is_port() && here_.nodes > 1) put_on(writer_.input(own), here_.rank);
        peers.expose(own, writer_.input(own));
        writer_->copy(writer_.output(own), writer_.input(own));
    }

    /// Forwards blocks of the ring from their slots, and exposes them there to local peers.
    void go_around(LocalPeers& peers) {
        for_each_that_passes([&](Rank from, Rank rank, bool goes_on) {
            const auto block = static_cast<std::uint32_t>(rank);
            writer_->wait(from, block);
            if (goes_on) put_on(writer_.slot(block, block), rank);
            peers.expose(block, writer_.slot(block, block));
            writer_->copy(writer_.output(block), writer_.slot(block, block));
        });
    }

    /// Returns true if the ring of `port` carries this rank's block. The port takes no other
    /// block from that rank, so its ring lane signals when it has taken the block.
    [[nodiscard]] bool passes_on(Rank port, Rank peer) const {
        return here_.layout.local_of(peer) % here_.ports == here_.layout.local_of(port);
    }

    void put_on(plan::Block source, Rank rank) {
        writer_->put(here_.partner(std::int64_t{here_.node} + 1), static_cast<std::uint32_t>(rank),
                     source);
    }
    void take_exposed(Rank from, Rank rank) {
        const auto block = static_cast<std::uint32_t>(rank);
        writer_->wait(from, block);
        writer_->copy(writer_.output(block), at_peer(from, writer_.slot(block, block)));
    }

    /// Returns the ranks of a node that have no ring and whose blocks the ring of `port` carries.
    [[nodiscard]] std::vector<Rank> remainders(Rank node, Rank port) const {
        std::vector<Rank> ranks;
        for (Rank local = port + here_.ports; local < here_.layout.ranks_on(node);
             local += here_.ports)
            ranks.push_back(here_.layout.rank_at(node, local));
        return ranks;
    }

    /// Calls visit(from, block, true if the next node needs it) for the blocks that this
    /// port's ring brings.
    template <class Visit>
    void for_each_that_passes(Visit visit) const {
        const Rank from = here_.partner(std::int64_t{here_.node} - 1);
        for (Rank k = 1; k < here_.nodes; ++k) {
            const Rank node = (here_.node - k + here_.nodes) % here_.nodes;
            std::vector<Rank> blocks = remainders(node, here_.local);
            blocks.insert(blocks.begin(), here_.layout.rank_at(node, here_.local));
            for (const Rank block : blocks) visit(from, block, k + 1 < here_.nodes);
        }
    }

    /// Calls visit(local peer, block) for the blocks of other rings, in the order of arrival.
    /// Blocks of this node are visited with their owner as the peer.
    template <class Visit>
    void for_each_of_peers(Visit visit) const {
        for (Rank k = 0; k < here_.nodes; ++k) {
            const Rank node = (here_.node - k + here_.nodes) % here_.nodes;
            for (Rank local = 0; local < here_.layout.ranks_on(node); ++local) {
                const Rank port = local % here_.ports;
                if (port == here_.local) continue;
                const Rank block = here_.layout.rank_at(node, local);
                if (block == here_.rank) continue;
                visit(k == 0 ? block : here_.node_rank(port), block);
            }
        }
    }

    void take(Rank from, Rank rank) {
        const auto block = static_cast<std::uint32_t>(rank);
        writer_->wait(from, block, plan::kShared);
        writer_->copy(writer_.output(block), writer_.slot(block, block));
    }
    void pass(const std::vector<Rank>& ranks, Rank rank) {
        const auto block = static_cast<std::uint32_t>(rank);
        share(writer_.builder(), ranks, block, writer_.output(block));
    }

    /// Reserves room for blocks; signals need none.
    void reserve(std::uint32_t numbers) {
        const auto size = static_cast<std::uint32_t>(here_.layout.size());
        if (size == 1) return;
        const bool handed = numbers == size || here_.nodes > 1;
        for (std::uint32_t block = 0; block < size; ++block)
            writer_->reserve_capacity(block, handed ? 1 : 0);
        writer_->reserve_slots(numbers);
    }

    BlockWriter& writer_;
    NodePosition here_;
    std::vector<Rank> others_;
};

constexpr Properties kProperties{
    .ordered = true, .bit_identical = true, .synchronizing = true, .for_nodes = true};

base::Result<plan::Program> generate_ring(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    const base::Result<NearWay> near = near_way(spec, block_bytes(request));
    if (!near) return near.failure();
    return program_by_blocks({.collective = "allgather", .synchronizing = true}, spec, request,
                             [&](BlockWriter& block_writer, const GenerateRequest&) {
                                 Writer writer(block_writer, request);
                                 if (*near == NearWay::mapped)
                                     writer.write_exposed();
                                 else
                                     writer.write();
                             });
}

}  // namespace

Algorithm allgather_multi_object_ring() {
    return {
        .collective = "allgather",
        .name = "multi-object-ring",
        .summary = "a ring of nodes for each rank of a node, which shares passing blocks",
        .source = "Huang et al., PiP-MColl, section III-B1",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}, kNearParameter},
        .properties = kProperties,
        .generate = &generate_ring,
        .refine = &with_near_way<kProperties>,
    };
}

}  // namespace weft::collectives
