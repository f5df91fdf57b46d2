// SPDX-License-Identifier: BSD-3-Clause
// multi_object_bruck.cpp - allgather of short blocks in which all ranks of a node use the network.
//
// Idea     The ranks of a node exchange their blocks. In each round a node has the blocks of S
//          nodes, itself and the next ones. Port j fetches the blocks of the node j*S ahead, all
//          ports at the same time, and gives them to its local peers. Then the node has the
//          blocks of B*S nodes, with B = ports + 1. The last round fetches the rest. Long
//          payloads are exposed to local peers instead of put: the own block in the input, other
//          blocks in the port's output.
// Source   Huang et al., PiP-MColl, section III-A2, with corrections of the partner's rank and of
//          the remainder; Bruck et al. for one port.
// Rounds   Over the network ceil(log_B N) for N nodes. On the node one for each of them,
//          and one before.
// Bytes    Over the network all ports of a node together send the blocks of N-1 nodes.
// Memory   Slots for a block of each local peer and, in each round, twice for the blocks of each
//          port. If blocks are exposed: once, and no slots for local peers.
// Good for Short blocks on many nodes with several ranks.
// Holds    Synchronizing; bits are only copied. Blocks arrive at their final positions, so
//          no rotation follows.
// Next     ../node_position.hpp for ports; ../near_way.hpp; multi_object_ring.cpp for long blocks.
#include <algorithm>

#include "collectives/entries.hpp"
#include "collectives/near_way.hpp"

namespace weft::collectives {

namespace {

class Writer {
  public:
    Writer(BlockWriter& writer, const GenerateRequest& request, Rank radix)
        : writer_(writer),
          request_(request),
          here_(request),
          others_(here_.others()),
          radix_(radix) {}

    /// Writes the program with exposed blocks. The number of a run of blocks is the rank of
    /// its first block.
    void write_exposed() {
        const auto own = static_cast<std::uint32_t>(here_.rank);
        const auto size = static_cast<std::uint32_t>(here_.layout.size());
        const auto most = static_cast<std::uint32_t>(here_.layout.most());
        LocalPeers peers(writer_.builder(), here_, size);
        peers.expose(own, writer_.input(own));
        writer_->copy(writer_.output(own), writer_.input(own));
        for (const Rank peer : others_) take_exposed(peer, static_cast<std::uint32_t>(peer), 1);
        std::uint32_t number = size + most;
        for (std::int64_t have = 1; have < here_.nodes; have *= radix_)
            exchange_exposed(have, number++, peers);
        peers.tell_done();
        writer_->flush();
        peers.await_done();
        reserve_exposed(size + most);
    }

    void write() {
        const auto own = static_cast<std::uint32_t>(here_.rank);
        writer_->copy(writer_.output(own), writer_.input(own));
        share(writer_.builder(), others_, static_cast<std::uint32_t>(here_.local),
              writer_.output(own));
        for (Rank peer = 0; peer < here_.count; ++peer) {
            if (peer == here_.local) continue;
            const auto number = static_cast<std::uint32_t>(peer);
            const auto block = static_cast<std::uint32_t>(here_.node_rank(peer));
            writer_->wait(here_.node_rank(peer), number, plan::kShared);
            writer_->copy(writer_.output(block), writer_.slot(number, block));
        }
        auto number = static_cast<std::uint32_t>(here_.layout.most());
        const std::uint32_t peer_numbers = number;
        for (std::int64_t have = 1; have < here_.nodes; have *= radix_) {
            exchange(have, number);
            number += static_cast<std::uint32_t>(radix_);
        }
        reserve(peer_numbers);
    }

  private:
    /// Returns the nodes whose blocks a port fetches when each node has the blocks of `have` nodes.
    [[nodiscard]] NodeWindow window(Rank node, Rank port, std::int64_t have) const {
        const std::int64_t distance = (port + 1) * have;
        return {node + distance,
                static_cast<Rank>(std::clamp<std::int64_t>(here_.nodes - distance, 0, have))};
    }

    void exchange_exposed(std::int64_t have, std::uint32_t number, LocalPeers& peers) {
        const NodeWindow mine = window(here_.node, here_.local, have);
        if (here_.local < radix_ - 1 && mine.count > 0) {
            fetch(have, number, mine);
            for_each_exposed(mine, [&](std::uint32_t first, std::uint32_t count) {
                peers.expose(first, writer_.output(first, count));
            });
        }
        for (Rank port = 0; port + 1 < radix_; ++port) {
            if (port == here_.local) continue;
            for_each_exposed(window(here_.node, port, have),
                             [&](std::uint32_t first, std::uint32_t count) {
                                 take_exposed(here_.node_rank(port), first, count);
                             });
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
    void take_exposed(Rank from, std::uint32_t first, std::uint32_t count) {
        writer_->wait(from, first);
        writer_->copy(writer_.output(first, count),
                      at_peer(from, writer_.slot(first, first, count)));
    }
    template <class Visit>
    void for_each_exposed(NodeWindow nodes, Visit visit) const {
        for_each_exposed_run(writer_, request_, here_.layout, nodes, visit);
    }

    void exchange(std::int64_t have, std::uint32_t number) {
        const NodeWindow mine = window(here_.node, here_.local, have);
        if (here_.local < radix_ - 1 && mine.count > 0) {
            fetch(have, number, mine);
            share(writer_.builder(), others_, shared(number, here_.local), blocks(mine));
        }
        for (Rank port = 0; port + 1 < radix_; ++port) {
            const NodeWindow theirs = window(here_.node, port, have);
            if (port == here_.local || theirs.count == 0) continue;
            writer_->wait(here_.node_rank(port), shared(number, port), plan::kShared);
            writer_->copy(blocks(theirs), in_slot(shared(number, port), theirs));
        }
    }

    [[nodiscard]] static std::uint32_t shared(std::uint32_t number, Rank port) {
        return number + 1 + static_cast<std::uint32_t>(port);
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
    /// the largest window of any node is reserved.
    void reserve(std::uint32_t number) {
        if (here_.layout.size() == 1) return;
        const std::uint32_t most = number;
        writer_->reserve_capacities(0, most, most > 1 ? 1 : 0);
        for (std::int64_t have = 1; have < here_.nodes; have *= radix_) {
            std::uint32_t largest = 0;
            for (Rank port = 0; port + 1 < radix_; ++port) {
                const std::uint32_t units =
                    ranks_at_most(here_.layout, window(0, port, have).count);
                largest = std::max(largest, units);
                writer_->reserve_capacity(shared(number, port), most > 1 ? units : 0);
            }
            writer_->reserve_capacity(number, largest);
            number += static_cast<std::uint32_t>(radix_);
        }
    }

    /// Exposures and done signals need no capacity.
    void reserve_exposed(std::uint32_t far) {
        if (here_.layout.size() == 1) return;
        writer_->reserve_capacities(0, far, 0);
        for (std::int64_t have = 1; have < here_.nodes; have *= radix_) {
            std::uint32_t largest = 0;
            for (Rank port = 0; port + 1 < radix_; ++port)
                largest =
                    std::max(largest, ranks_at_most(here_.layout, window(0, port, have).count));
            writer_->reserve_capacity(far++, largest);
        }
    }

    BlockWriter& writer_;
    const GenerateRequest& request_;
    NodePosition here_;
    std::vector<Rank> others_;
    Rank radix_;
};

/// Returns the bytes of the largest payload from a port to its local peers. In each round but the
/// last, the first port fetches the blocks of `have` nodes.
std::uint64_t bytes_handed(const GenerateRequest& request, const plan::Layout& layout, Rank radix) {
    std::int64_t most = 0;
    for (std::int64_t have = 1; have < layout.nodes(); have *= radix)
        most = std::max(most, std::min<std::int64_t>(have, layout.nodes() - have));
    return std::max(1U, ranks_at_most(layout, most)) * block_bytes(request);
}

constexpr Properties kProperties{
    .ordered = true, .bit_identical = true, .synchronizing = true, .for_nodes = true};

base::Result<plan::Program> generate_bruck(const AlgorithmSpec& spec,
                                           const GenerateRequest& request) {
    const plan::Layout layout = layout_of(request);
    const base::Result<std::int64_t> radix = number_parameter(
        spec, "radix",
        {.fallback = layout.least() + 1, .least = 2, .most = std::int64_t{layout.least()} + 1});
    if (!radix) return radix.failure();
    const base::Result<NearWay> near =
        near_way(spec, bytes_handed(request, layout, static_cast<Rank>(*radix)));
    if (!near) return near.failure();
    return program_by_blocks({.collective = "allgather", .synchronizing = true}, spec, request,
                             [&](BlockWriter& block_writer, const GenerateRequest&) {
                                 Writer writer(block_writer, request, static_cast<Rank>(*radix));
                                 if (*near == NearWay::mapped)
                                     writer.write_exposed();
                                 else
                                     writer.write();
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
              "how many times as many nodes' blocks each round, at most one more than the "
              "ranks of the smallest node",
              "2"},
             {"segments", "1", kSegmentsHelp},
             kNearParameter},
        .properties = kProperties,
        .generate = &generate_bruck,
        .refine = &with_near_way<kProperties>,
    };
}

}  // namespace weft::collectives
