// SPDX-License-Identifier: BSD-3-Clause
// mapped.cpp - broadcast in which all ranks copy from the root's memory.
//
// Idea     The root exposes its vector to all ranks. Each rank copies it directly into its own
//          vector and signals the root that it is done. With two ranks, the root copies one half
//          for the other.
// Source   Huang et al., PiP-MColl, section III, broadcast by posted addresses.
// Rounds   2. Messages: none; 2 (n - 1) signals, or 4 for two ranks.
// Bytes    Each rank but the root copies the vector once: n - 1 vectors in all.
// Memory   No put targets.
// Good for Long vectors on one node.
// Holds    Not synchronizing: only the root knows that all have entered.
// Next     ../mapped.hpp.
#include "collectives/mapped.hpp"

#include "collectives/broadcast/broadcast.hpp"

namespace weft::collectives {

namespace {

constexpr MappedCall kCall{
    .collective = "broadcast",
    .summary = "all ranks copy from the root's vector",
    .blocks = 1,
    .halves = true,
};

void write_of_two(MappedWriter& writer) {
    writer.expose_halves(writer.root(), 0);
    if (writer.is_root()) writer->copy(plan::output(0, 2), plan::input(0, 2));
    writer.copy_half(writer.root(), 0);
}

void write(MappedWriter& writer) {
    if (writer.size() == 2) return write_of_two(writer);
    writer.for_each_other([&](Rank peer) {
        if (writer.is_root()) writer.expose_input(peer, plan::input());
    });
    if (!writer.is_root()) writer.await(writer.root(), Purpose::input);
    writer->copy(plan::output(), writer.block(writer.root(), Purpose::input, 0));
    if (writer.is_root())
        writer.await_all(Purpose::done);
    else
        writer.tell_done(writer.root());
}

}  // namespace

Algorithm broadcast_mapped() {
    return mapped_algorithm<kCall, &write>();
}

}  // namespace weft::collectives
