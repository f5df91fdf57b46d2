// SPDX-License-Identifier: BSD-3-Clause
// mapped.cpp - scatter out of the root's memory.
//
// Idea     The root exposes to each rank that one's block; each copies it into its output, and
//          tells the root that it is done. Of two ranks, each copies one half of the block.
// Source   Huang et al., PiP-MColl, section III.
// Rounds   2. Messages: none; 2 (n - 1) signals; 4 of two ranks.
// Bytes    Each rank copies its block once; the root copies its own, unless it lies there.
// Memory   No put targets.
// Good for Long blocks on one node.
// Holds    Not synchronizing: the root alone knows that all have entered.
// Next     ../mapped.hpp.
#include "collectives/mapped.hpp"

#include "collectives/scatter/scatter.hpp"

namespace weft::collectives {

namespace {

constexpr MappedCall kCall{
    .collective = "scatter",
    .summary = "each rank copies its block from the root's vector",
    .halves = true,
};

void write_of_two(MappedWriter& writer) {
    const Rank from = writer.root();
    const auto first = 2 * static_cast<std::uint32_t>(1 - writer.root());
    const std::uint32_t own = 2 * writer.own();
    writer.expose_halves(from, first);
    if (writer.is_root()) writer->copy(plan::output(own, 2), plan::input(own, 2));
    writer.copy_half(from, first);
}

void write(MappedWriter& writer) {
    if (writer.size() == 2) return write_of_two(writer);
    const Rank root = writer.root();
    if (!writer.is_root()) {
        writer.await(root, Purpose::input);
        writer->copy(plan::output(writer.own()), writer.block(root, Purpose::input, writer.own()));
        return writer.tell_done(root);
    }
    writer.for_each_other([&](Rank peer) {
        writer.expose_input(peer, plan::input(static_cast<std::uint32_t>(peer)));
    });
    writer->copy(plan::output(writer.own()), plan::input(writer.own()));
    writer.await_all(Purpose::done);
}

}  // namespace

Algorithm scatter_mapped() {
    return mapped_algorithm<kCall, &write>();
}

}  // namespace weft::collectives
