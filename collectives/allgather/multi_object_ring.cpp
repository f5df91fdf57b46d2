// SPDX-License-Identifier: BSD-3-Clause
// multi_object_ring.cpp - allgather of long blocks in which all ranks of a node drive the network.
//
// Idea     As many rings as the smallest node has ranks: port l of every node passes blocks to port
//          l of the next node, beginning with its own, and hands each to its mates as it gets it.
//          Ranks beyond the ports give their blocks to a port, which sends them along with its own.
//          Long blocks are not handed to mates but exposed: these copy them out of the slots of the
//          port, and out of the input of the rank they come from.
// Source   Huang et al., PiP-MColl, section III-B1. There ranks gather at one of them first, and
//          one spreads what arrives; here each port does both for its own ring.
// Rounds   N-1 over the network for N nodes, and one on the node.
// Bytes    Over the network a port sends N-1 blocks (of even nodes), one in each round.
// Memory   A slot for each block; where blocks are exposed, for those that rings bring.
// Good for Long blocks on nodes of several ranks.
// Holds    Synchronizing; bits are moved only. A block's number is its rank, wherever it goes
//          (kShared): each rank gets every other's block once, by its ring if it belongs to that,
//          else from a mate. Exposed, a block is passed on before it is copied, and a second lane
//          copies those of mates while the ring goes on; the ring's lane begins the next piece when
//          that one and the mates are done.
// Next     ../node_position.hpp for ports; ../near_way.hpp; multi_object_bruck.cpp for short ones.
#include "collectives/allgather/allgather.hpp"
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
        Mates mates(writer_.builder(), here_, size);
        Mates takers(writer_.builder(), here_, size + most);  // of remainders' blocks
        begin(mates);
        if (here_.is_port()) {
            for (const Rank rank : remainders(here_.node, here_.local)) {
                take_exposed(rank, rank);
                takers.tell_done(rank);
                if (here_.nodes > 1) put_on(writer_.output(static_cast<std::uint32_t>(rank)), rank);
            }
            go_around(mates);
        } else {
            takers.await_done(here_.node_rank(here_.local % here_.ports));
        }
        writer_->flush();
        for (const Rank mate : others_)
            if (!passes_on(mate, here_.rank)) mates.await_done(mate);
        if (here_.count > 1 && (here_.ports > 1 || here_.local > 0)) {
            writer_->wait(here_.rank, own_lane);
            writer_.begin_lane();
            for_each_of_mates([&](Rank from, Rank block) { take_exposed(from, block); });
            for (const Rank mate : others_)
                if (!passes_on(here_.rank, mate)) mates.tell_done(mate);
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
            // Those of node mates without a ring, which send to all ranks of the node.
            for (const Rank rank : remainders(here_.node, here_.local)) {
                take(rank, rank);
                if (here_.nodes > 1) pass({here_.partner(std::int64_t{here_.node} + 1)}, rank);
            }
            for_each_that_passes([&](Rank from, Rank block, bool goes_on) {
                take(from, block);
                pass(goes_on ? next : others_, block);
            });
        }
        for_each_of_mates([&](Rank from, Rank block) { take(from, block); });
        reserve(static_cast<std::uint32_t>(here_.layout.size()));
    }

  private:
    /// The own block, to mates and to the next node, straight from the input.
    void begin(Mates& mates) {
        const auto own = static_cast<std::uint32_t>(here_.rank);
        if (here_.is_port() && here_.nodes > 1) put_on(writer_.input(own), here_.rank);
        mates.expose(own, writer_.input(own));
        writer_->copy(writer_.output(own), writer_.input(own));
    }

    /// What the ring brings lies in slots: from there it is passed on, and mates copy it.
    void go_around(Mates& mates) {
        for_each_that_passes([&](Rank from, Rank rank, bool goes_on) {
            const auto block = static_cast<std::uint32_t>(rank);
            writer_->wait(from, block);
            if (goes_on) put_on(writer_.slot(block, block), rank);
            mates.expose(block, writer_.slot(block, block));
            writer_->copy(writer_.output(block), writer_.slot(block, block));
        });
    }

    /// Whether a rank takes a mate's block for its ring, and no other from it: the lane of the ring
    /// says when it has.
    [[nodiscard]] bool passes_on(Rank port, Rank mate) const {
        return here_.layout.local_of(mate) % here_.ports == here_.layout.local_of(port);
    }

    void put_on(plan::Block source, Rank rank) {
        writer_->put(here_.partner(std::int64_t{here_.node} + 1), static_cast<std::uint32_t>(rank),
                     source);
    }
    void take_exposed(Rank from, Rank rank) {
        const auto block = static_cast<std::uint32_t>(rank);
        writer_->wait(from, block);
        writer_->copy(writer_.output(block), at_mate(from, writer_.slot(block, block)));
    }

    /// Ranks whose blocks go around a port's ring with its own, on some node.
    [[nodiscard]] std::vector<Rank> remainders(Rank node, Rank port) const {
        std::vector<Rank> ranks;
        for (Rank local = port + here_.ports; local < here_.layout.ranks_on(node);
             local += here_.ports)
            ranks.push_back(here_.layout.rank_at(node, local));
        return ranks;
    }

    /// Calls visit(from, block, whether it goes on to the next node) for what a port's ring brings.
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

    /// Calls visit(mate, block) for what the other rings bring, the way it comes; of this node, for
    /// what was not taken yet.
    template <class Visit>
    void for_each_of_mates(Visit visit) const {
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

    /// Signals have no room.
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
