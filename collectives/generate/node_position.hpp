// SPDX-License-Identifier: BSD-3-Clause
// node_position.hpp - position of a rank on its node, for algorithms where every rank
// uses the network.
//
// Idea     The first ranks of each node are its *ports*; their number is the number of ranks of the
//          smallest node. Port l of a node communicates with port l of other nodes. The remaining
//          ranks communicate on their node only.
// Why      With equal numbers of ports, every message has one sender and one receiver on any
//          layout, and all nodes run the same algorithm.
// Holds    A rank exposes blocks of consecutive ranks (transfer.hpp) together if the blocks adjoin
//          in every buffer, else one by one. So any layout and any number of pieces work. At the
//          end of each piece a rank waits until its local peers are done, so the next piece may
//          write to the memory that they have read.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

struct NodePosition {
    explicit NodePosition(const GenerateRequest& request)
        : layout(layout_of(request)),
          rank(request.rank),
          node(layout.node_of(request.rank)),
          local(layout.local_of(request.rank)),
          node_size(layout.ranks_on(node)),
          nodes(layout.nodes()),
          ports(layout.least()) {}

    plan::Layout layout;
    Rank rank;
    Rank node;
    Rank local;      ///< this rank's index on its node
    Rank node_size;  ///< ranks on this node
    Rank nodes;      ///< number of nodes
    Rank ports;      ///< number of ports of each node

    [[nodiscard]] bool is_port() const { return local < ports; }
    /// Returns the rank with local number `number` on this node.
    [[nodiscard]] Rank node_rank(Rank number) const { return layout.rank_at(node, number); }
    /// Returns the rank with this rank's local number on node `other` modulo the number of nodes.
    [[nodiscard]] Rank partner(std::int64_t other) const {
        const auto wrapped = static_cast<Rank>(((other % nodes) + nodes) % nodes);
        return layout.rank_at(wrapped, local);
    }
    /// Returns the local peers, starting with the next one, so that ranks start with different
    /// peers.
    [[nodiscard]] std::vector<Rank> others() const {
        std::vector<Rank> list;
        for (Rank k = 1; k < node_size; ++k) list.push_back(node_rank((local + k) % node_size));
        return list;
    }
};

/// Consecutive nodes from `first` on, modulo the number of nodes.
struct NodeWindow {
    std::int64_t first = 0;
    Rank count = 0;
};

/// Calls visit(first, count) for the runs of consecutive ranks on some nodes, node by node.
template <class Visit>
void for_each_run(const plan::Layout& layout, NodeWindow nodes, Visit visit) {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    const auto add = [&](Rank rank, Rank ranks) {
        const auto begin = as_u32(rank);
        if (count == 0 || begin != first + count) {
            if (count > 0) visit(first, count);
            first = begin;
            count = 0;
        }
        count += as_u32(ranks);
    };
    for (Rank k = 0; k < nodes.count; ++k) {
        const auto node = static_cast<Rank>((nodes.first + k) % layout.nodes());
        const Rank ranks = layout.ranks_on(node);
        if (layout.contiguous()) {
            add(layout.rank_at(node, 0), ranks);
            continue;
        }
        for (Rank local = 0; local < ranks; ++local) add(layout.rank_at(node, local), 1);
    }
    if (count > 0) visit(first, count);
}

/// Returns the blocks of all ranks of the nodes, one entry for each run of consecutive ranks.
/// `block_of(first, count)` returns the blocks of ranks first .. first + count - 1.
template <class BlockOf>
[[nodiscard]] std::vector<plan::Block> blocks_of_nodes(const plan::Layout& layout, NodeWindow nodes,
                                                       BlockOf block_of) {
    std::vector<plan::Block> list;
    for_each_run(layout, nodes, [&](std::uint32_t first, std::uint32_t count) {
        list.push_back(block_of(first, count));
    });
    return list;
}

/// Returns an upper bound of the number of ranks on any `nodes` nodes.
[[nodiscard]] inline std::uint32_t ranks_at_most(const plan::Layout& layout, std::int64_t nodes) {
    return as_u32(std::min<std::int64_t>(nodes * layout.most(), layout.size()));
}

/// Returns the parameter `radix`: the nodes that exchange data in a round, at most the number of
/// ports of a node plus 1.
[[nodiscard]] inline base::Result<std::int64_t> radix_of_nodes(const AlgorithmSpec& spec,
                                                               const plan::Layout& layout) {
    const std::int64_t most = std::int64_t{layout.least()} + 1;
    return number_parameter(spec, "radix", {.fallback = most, .least = 2, .most = most});
}

/// Calls visit(first, count) for the runs of ranks, on some nodes, whose blocks are exposed
/// together. A run has all consecutive ranks if their blocks adjoin in memory, else one rank.
template <class Visit>
void for_each_exposed_run(const BlockWriter& writer, const GenerateRequest& request,
                          const plan::Layout& layout, NodeWindow nodes, Visit visit) {
    const bool adjoin = !writer.pipelined() && request.counts.empty();
    for_each_run(layout, nodes, [&](std::uint32_t first, std::uint32_t count) {
        if (adjoin) return visit(first, count);
        for (std::uint32_t i = 0; i < count; ++i) visit(first + i, 1U);
    });
}

/// Returns the block that a local peer has exposed under the number of `slot`.
[[nodiscard]] inline plan::Block at_peer(Rank peer, plan::Block slot) {
    slot.buffer = plan::Buffer::mapped;
    slot.peer = peer;
    return slot;
}

/// Shares blocks with the local peers: puts them, or exposes them until the peers are done.
class LocalPeers {
  public:
    /// The signal that a rank is done has the number `first_done` + the rank's local rank.
    LocalPeers(plan::Builder& builder, const NodePosition& here, LocalTransfer transfer,
               std::uint32_t first_done)
        : builder_(builder),
          here_(here),
          others_(here.others()),
          in_place_(transfer == LocalTransfer::in_place),
          first_done_(first_done) {}

    /// Puts or exposes a block to all local peers under one number.
    void share(std::uint32_t number, plan::Block block) {
        for (const Rank peer : others_) {
            if (in_place_)
                builder_.expose(peer, number, block);
            else
                builder_.put(peer, number, block, plan::kShared);
        }
    }
    void wait(Rank peer, std::uint32_t number) { builder_.wait(peer, number, flags()); }
    /// Returns the block that a peer has shared: this slot, or the peer's exposed memory.
    [[nodiscard]] plan::Block shared(Rank peer, plan::Block slot) const {
        return in_place_ ? at_peer(peer, slot) : slot;
    }
    /// Returns the flags of puts and waits.
    [[nodiscard]] std::uint8_t flags() const { return in_place_ ? 0 : plan::kShared; }

    /// Signals a peer that this rank no longer reads the blocks that the peer has exposed.
    void signal_done(Rank peer) { builder_.signal(peer, done(here_.local)); }
    void signal_done() {
        for (const Rank peer : others_) signal_done(peer);
    }
    /// Waits until a peer no longer reads the blocks that this rank has exposed.
    void await_done(Rank peer) { builder_.wait(peer, done(here_.layout.local_of(peer))); }
    void await_done() {
        for (const Rank peer : others_) await_done(peer);
    }

  private:
    [[nodiscard]] std::uint32_t done(Rank local) const { return first_done_ + as_u32(local); }

    plan::Builder& builder_;
    const NodePosition& here_;
    std::vector<Rank> others_;
    bool in_place_;
    std::uint32_t first_done_;
};

}  // namespace weft::collectives
