// SPDX-License-Identifier: BSD-3-Clause
// node_ring.hpp - a ring of nodes for each port. Each port shares the blocks with its local peers.
//
// Idea     Port l of every node passes blocks to port l of the next node, and shares each block
//          with its local peers: by a put, or by exposing the slot into which it was put.
// Holds    A block has the same number on its whole path, so puts of one payload are kShared.
//          Exposed blocks are forwarded before they are copied.
// Next     allgather/multi_object_ring.cpp, allreduce/multi_object_large.cpp.
#pragma once

#include "collectives/generate/node_position.hpp"

namespace weft::collectives {

class NodeRing {
  public:
    /// Block b has the number `first_number` + b.
    NodeRing(BlockWriter& writer, const NodePosition& here, LocalTransfer transfer,
             std::uint32_t first_number)
        : writer_(writer),
          here_(here),
          in_place_(transfer == LocalTransfer::in_place),
          first_number_(first_number),
          peers_(writer.builder(), here, transfer, 0) {}

    /// Shares a block of this rank with its local peers and, if this is a port, the next node.
    void start(std::uint32_t block, plan::Block source) {
        share(block, source, here_.is_port() && here_.nodes > 1);
    }
    /// Receives a block from the previous node and shares it with the local peers and, if
    /// `forwards`, with the next node.
    void pass(std::uint32_t block, bool forwards) {
        const Rank from = here_.partner(std::int64_t{here_.node} - 1);
        const plan::Block slot = slot_of(block);
        peers_.wait(from, number_of(block));
        if (in_place_) share(block, slot, forwards);
        writer_->copy(writer_.output(block), slot);
        if (!in_place_) share(block, writer_.output(block), forwards);
    }
    /// Receives a block from a local peer.
    void take(Rank from, std::uint32_t block) {
        peers_.wait(from, number_of(block));
        writer_->copy(writer_.output(block), peers_.shared(from, slot_of(block)));
    }
    /// Puts a block to the next node only.
    void put_to_next_node(std::uint32_t block, plan::Block source) {
        writer_->put(here_.partner(std::int64_t{here_.node} + 1), number_of(block), source,
                     peers_.flags());
    }

  private:
    void share(std::uint32_t block, plan::Block source, bool forwards) {
        if (forwards) put_to_next_node(block, source);
        peers_.share(number_of(block), source);
    }
    [[nodiscard]] plan::Block slot_of(std::uint32_t block) const {
        return writer_.slot(number_of(block), block);
    }
    [[nodiscard]] std::uint32_t number_of(std::uint32_t block) const {
        return first_number_ + block;
    }

    BlockWriter& writer_;
    const NodePosition& here_;
    bool in_place_;
    std::uint32_t first_number_;
    LocalPeers peers_;
};

}  // namespace weft::collectives
