// SPDX-License-Identifier: BSD-3-Clause
// multi_object_bruck.cpp - allgather of short blocks in which all ranks of a node use the network.
//
// Idea     The ranks of a node exchange their blocks. In each round a node has the blocks of S
//          nodes, itself and the next ones. At the same time port j, counted from 1, receives the
//          blocks that the node j*S ahead has, and shares them with its local peers. Then the node
//          has the blocks of B*S nodes, with B = ports + 1. The last round fetches the rest. Long
//          payloads are exposed to local peers instead of put: a rank's own block in its input,
//          other blocks in the port's output.
// Source   Huang et al., PiP-MColl, section III-A2, with corrections of the partner's rank and of
//          the remainder; Bruck et al. for one port.
// Rounds   Over the network ceil(log_B N) for N nodes; on the node one more.
// Bytes    Over the network all ports of a node together send the blocks of N-1 nodes.
// Memory   In each round a slot for blocks from another node. Unless blocks are exposed, also one
//          for each local rank's block and, in each round, one for each port's blocks.
// Good for Short blocks on many nodes with several ranks.
// Holds    Synchronizing; bits are only copied. Blocks arrive at their final positions, so
//          no rotation follows.
// Next     ../generate/node_position.hpp for ports; ../transfer.hpp; multi_object_ring.cpp for long
//          blocks.
#include <algorithm>

#include "collectives/entries.hpp"
#include "collectives/generate/node_position.hpp"

namespace weft::collectives {

namespace {

class NodeBruck {
  public:
    NodeBruck(BlockWriter& writer, const GenerateRequest& request, Rank radix,
              LocalTransfer transfer)
        : writer_(writer), request_(request), radix_(radix), transfer_(transfer) {}

    void write() {
        const auto own = as_u32(here_.rank);  // also the put number of this rank's exposed block
        if (in_place_) peers_.share(own, writer_.input(own));
        writer_->copy(writer_.output(own), writer_.input(own));
        if (in_place_) {
            for (const Rank peer : here_.others()) copy_exposed(peer, as_u32(peer), 1);
        } else {
            peers_.share(as_u32(here_.local), writer_.output(own));
            for (Rank peer = 0; peer < here_.node_size; ++peer)
                if (peer != here_.local) receive_block(peer);
        }
        std::uint32_t number = first_;
        for (std::int64_t have = 1; have < here_.nodes; have *= radix_) {
            exchange(have, number);
            number += numbers_per_round();
        }
        if (in_place_) {
            peers_.signal_done();
            writer_->flush();
            peers_.await_done();
        }
        reserve();
    }

  private:
    /// Returns the number of put numbers that a round uses: one between nodes and, unless blocks
    /// are exposed, one for each port.
    [[nodiscard]] std::uint32_t numbers_per_round() const { return in_place_ ? 1 : as_u32(radix_); }
    /// Returns the nodes whose blocks a port fetches when each node has the blocks of `have` nodes.
    [[nodiscard]] NodeWindow window(Rank node, Rank port, std::int64_t have) const {
        const std::int64_t distance = (port + 1) * have;
        return {node + distance,
                static_cast<Rank>(std::clamp<std::int64_t>(here_.nodes - distance, 0, have))};
    }

    void exchange(std::int64_t have, std::uint32_t number) {
        const NodeWindow mine = window(here_.node, here_.local, have);
        if (here_.local < radix_ - 1 && mine.count > 0) {
            fetch(have, number, mine);
            if (in_place_)
                for_each_exposed(mine, [&](std::uint32_t first, std::uint32_t count) {
                    peers_.share(first, writer_.output(first, count));
                });
            else
                for (const Rank peer : here_.others())
                    writer_->put(peer, shared(number, here_.local), blocks(mine), plan::kShared);
        }
        for (Rank port = 0; port + 1 < radix_; ++port) {
            const NodeWindow theirs = window(here_.node, port, have);
            const Rank from = here_.node_rank(port);
            if (port == here_.local || theirs.count == 0) continue;
            if (in_place_) {
                for_each_exposed(theirs, [&](std::uint32_t first, std::uint32_t count) {
                    copy_exposed(from, first, count);
                });
            } else {
                writer_->wait(from, shared(number, port), plan::kShared);
                writer_->copy(blocks(theirs), in_slot(shared(number, port), theirs));
            }
        }
    }
    /// Puts this node's blocks to one node, and receives the blocks of another.
    void fetch(std::int64_t have, std::uint32_t number, NodeWindow mine) {
        const std::int64_t distance = (here_.local + 1) * have;
        writer_->put(here_.partner(here_.node - distance), number,
                     blocks({here_.node, mine.count}));
        writer_->wait(here_.partner(here_.node + distance), number);
        writer_->copy(blocks(mine), in_slot(number, mine));
    }
    /// Copies blocks that a local peer has exposed; their number is the rank of the first block.
    void copy_exposed(Rank from, std::uint32_t first, std::uint32_t count) {
        writer_->wait(from, first);
        writer_->copy(writer_.output(first, count),
                      at_peer(from, writer_.slot(first, first, count)));
    }
    template <class Visit>
    void for_each_exposed(NodeWindow nodes, Visit visit) const {
        for_each_exposed_run(writer_, request_, here_.layout, nodes, visit);
    }

    /// Receives the block that a local peer has put.
    void receive_block(Rank peer) {
        const auto number = as_u32(peer);
        const auto block = as_u32(here_.node_rank(peer));
        writer_->wait(here_.node_rank(peer), number, plan::kShared);
        writer_->copy(writer_.output(block), writer_.slot(number, block));
    }

    /// Returns the number by which a port puts the blocks of a round to its local peers.
    [[nodiscard]] static std::uint32_t shared(std::uint32_t number, Rank port) {
        return number + 1 + as_u32(port);
    }

    /// Returns the blocks of some nodes in the output, one run for each group of consecutive ranks.
    [[nodiscard]] std::vector<plan::Block> blocks(NodeWindow nodes) const {
        return blocks_of_nodes(here_.layout, nodes, [&](std::uint32_t first, std::uint32_t count) {
            return writer_.output(first, count);
        });
    }
    [[nodiscard]] std::vector<plan::Block> in_slot(std::uint32_t slot, NodeWindow nodes) const {
        return blocks_of_nodes(here_.layout, nodes, [&](std::uint32_t first, std::uint32_t count) {
            return writer_.slot(slot, first, count);
        });
    }
    /// Capacities must be equal on all ranks, but windows differ if nodes have different sizes. So
    /// the largest window of any node is reserved. Exposures and done signals need no capacity.
    void reserve() {
        if (here_.layout.size() == 1) return;
        const bool puts = !in_place_ && most_ > 1;
        writer_->reserve_capacities(0, first_, puts ? 1 : 0);
        std::uint32_t number = first_;
        for (std::int64_t have = 1; have < here_.nodes; have *= radix_) {
            std::uint32_t largest = 0;
            for (Rank port = 0; port + 1 < radix_; ++port) {
                const std::uint32_t units =
                    ranks_at_most(here_.layout, window(0, port, have).count);
                largest = std::max(largest, units);
                if (!in_place_) writer_->reserve_capacity(shared(number, port), puts ? units : 0);
            }
            writer_->reserve_capacity(number, largest);
            number += numbers_per_round();
        }
    }

    BlockWriter& writer_;
    const GenerateRequest& request_;
    Rank radix_;
    LocalTransfer transfer_;
    NodePosition here_{request_};
    bool in_place_ = transfer_ == LocalTransfer::in_place;
    std::uint32_t most_ = as_u32(here_.layout.most());  ///< ranks of the largest node
    /// First put number of the rounds.
    std::uint32_t first_ = in_place_ ? as_u32(request_.size) + most_ : most_;
    LocalPeers peers_{writer_.builder(), here_, transfer_, as_u32(request_.size)};
};

/// Returns the bytes of the largest payload from a port to its local peers: the blocks of the
/// largest number of nodes that the first port fetches in a round.
std::uint64_t shared_bytes(const GenerateRequest& request, const plan::Layout& layout, Rank radix) {
    std::int64_t most = 0;
    for (std::int64_t have = 1; have < layout.nodes(); have *= radix)
        most = std::max(most, std::min<std::int64_t>(have, layout.nodes() - have));
    return std::max(1U, ranks_at_most(layout, most)) * block_bytes(request);
}

base::Result<plan::Program> generate_bruck(const GenerateRequest& request) {
    const plan::Layout layout = layout_of(request);
    const auto radix = static_cast<Rank>(WEFT_TRY(radix_of_nodes(*request.spec, layout)));
    const LocalTransfer transfer =
        WEFT_TRY(local_transfer(*request.spec, shared_bytes(request, layout, radix)));
    return program_by_blocks({}, request, [&](BlockWriter& writer, const GenerateRequest&) {
        NodeBruck(writer, request, radix, transfer).write();
    });
}

}  // namespace

Algorithm allgather_multi_object_bruck() {
    return {
        .collective = "allgather",
        .name = "multi-object-bruck",
        .summary = "all ranks of a node fetch other nodes' blocks in one round",
        .source = "Huang et al., PiP-MColl, section III-A2",
        .parameters =
            {{"radix", "ports + 1",
              "factor by which the nodes whose blocks a node has grow each round, at most one more "
              "than the ranks of the smallest node",
              "2"},
             kSegments,
             kNearParameter},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = true,
                       .for_nodes = true},
        .generate = &generate_bruck};
}

}  // namespace weft::collectives
