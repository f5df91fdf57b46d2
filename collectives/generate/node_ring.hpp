// SPDX-License-Identifier: BSD-3-Clause
// node_ring.hpp - a ring of nodes for each port, which shares passing blocks with its local peers.
//
// Idea     Port l of every node passes blocks to port l of the next node, and gives each block to
//          its local peers: by a put, or exposed in the slot that it arrived in.
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

    /// Gives a block of this rank to its local peers and, if this is a port, to the next node.
    void start(std::uint32_t block, plan::Block source) {
        give(block, source, here_.is_port() && here_.nodes > 1);
    }
    /// Takes a block from the previous node and gives it to the local peers. `goes_on`: the next
    /// node needs it, too.
    void pass(std::uint32_t block, bool goes_on) {
        const Rank from = here_.partner(std::int64_t{here_.node} - 1);
        const plan::Block slot = slot_of(block);
        peers_.wait(from, number_of(block));
        if (in_place_) give(block, slot, goes_on);
        writer_->copy(writer_.output(block), slot);
        if (!in_place_) give(block, writer_.output(block), goes_on);
    }
    void take(Rank from, std::uint32_t block) {
        peers_.wait(from, number_of(block));
        writer_->copy(writer_.output(block), peers_.given(from, slot_of(block)));
    }
    /// Puts a block to the next node only.
    void put_on(std::uint32_t block, plan::Block source) {
        writer_->put(here_.partner(std::int64_t{here_.node} + 1), number_of(block), source,
                     peers_.flags());
    }

  private:
    void give(std::uint32_t block, plan::Block source, bool goes_on) {
        if (goes_on) put_on(block, source);
        peers_.give(number_of(block), source);
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
