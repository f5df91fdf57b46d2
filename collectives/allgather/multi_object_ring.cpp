// SPDX-License-Identifier: BSD-3-Clause
// multi_object_ring.cpp - allgather of long blocks in which all ranks of a node drive the network.
//
// Idea     As many rings as the smallest node has ranks: port l of every node passes blocks to port
//          l of the next node, beginning with its own, and hands each to its mates as it gets it.
//          Ranks beyond the ports give their blocks to a port, which sends them along with its own.
// Source   Huang et al., PiP-MColl, section III-B1. There ranks gather at one of them first, and
//          one spreads what arrives; here each port does both for its own ring.
// Rounds   N-1 over the network for N nodes, and one on the node.
// Bytes    Over the network a port sends N-1 blocks (of even nodes), one in each round.
// Memory   A slot for each block.
// Good for Long blocks on nodes of several ranks.
// Holds    Synchronizing; bits are moved only. A block's number is its rank, wherever it goes
//          (kShared): each rank gets every other's block once, by its ring if it belongs to that,
//          else from a mate.
// Next     ../node_position.hpp for ports; multi_object_bruck.cpp for short blocks.
#include "collectives/allgather/allgather.hpp"
#include "collectives/blocks.hpp"
#include "collectives/node_position.hpp"

namespace weft::collectives {

namespace {

class Writer {
  public:
    Writer(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer), here_(request), others_(here_.others()) {}

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
            // Those of node mates without a ring, which send to all ranks of the node.
            for (const Rank rank : remainders(here_.node, here_.local)) {
                take(rank, rank);
                if (here_.nodes > 1) pass({here_.partner(std::int64_t{here_.node} + 1)}, rank);
            }
            go_around(next);
        }
        take_from_mates();
    }

  private:
    /// Ranks whose blocks go around a port's ring with its own, on some node.
    [[nodiscard]] std::vector<Rank> remainders(Rank node, Rank port) const {
        std::vector<Rank> ranks;
        for (Rank local = port + here_.ports; local < here_.layout.ranks_on(node);
             local += here_.ports)
            ranks.push_back(here_.layout.rank_at(node, local));
        return ranks;
    }

    void go_around(const std::vector<Rank>& next) {
        const Rank from = here_.partner(std::int64_t{here_.node} - 1);
        for (Rank k = 1; k < here_.nodes; ++k) {
            const Rank node = (here_.node - k + here_.nodes) % here_.nodes;
            std::vector<Rank> blocks = remainders(node, here_.local);
            blocks.insert(blocks.begin(), here_.layout.rank_at(node, here_.local));
            for (const Rank block : blocks) {
                take(from, block);
                pass(k + 1 < here_.nodes ? next : others_, block);
            }
        }
    }

    /// What the other rings bring, the way it comes; of this node, what was not taken yet.
    void take_from_mates() {
        for (Rank k = 0; k < here_.nodes; ++k) {
            const Rank node = (here_.node - k + here_.nodes) % here_.nodes;
            for (Rank local = 0; local < here_.layout.ranks_on(node); ++local) {
                const Rank port = local % here_.ports;
                if (port == here_.local) continue;
                const Rank block = here_.layout.rank_at(node, local);
                if (block == here_.rank) continue;
                take(k == 0 ? block : here_.node_rank(port), block);
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

    BlockWriter& writer_;
    NodePosition here_;
    std::vector<Rank> others_;
};

base::Result<plan::Program> generate_ring(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    return program_by_blocks({.collective = "allgather", .synchronizing = true}, spec, request,
                             [&](BlockWriter& writer, const GenerateRequest&) {
                                 const auto size = static_cast<std::uint32_t>(request.size);
                                 Writer(writer, request).write();
                                 if (size > 1)
                                     for (std::uint32_t block = 0; block < size; ++block)
                                         writer->reserve_capacity(block, 1);
                             });
}

}  // namespace

Algorithm allgather_multi_object_ring() {
    return {
        .collective = "allgather",
        .name = "multi-object-ring",
        .summary = "a ring of nodes for each rank of a node, which hands on what passes",
        .source = "Huang et al., PiP-MColl, section III-B1",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = true,
                       .for_nodes = true},
        .generate = &generate_ring,
    };
}

}  // namespace weft::collectives
