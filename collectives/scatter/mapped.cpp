// SPDX-License-Identifier: BSD-3-Clause
// mapped.cpp - scatter in which ranks copy from the root's memory.
//
// Idea     The root exposes to each rank its block. Each rank copies the block into its output and
//          signals the root that it is done.
// Source   Huang et al., PiP-MColl, section III.
// Rounds   2. Messages: none; 2 (n - 1) signals.
// Bytes    Each rank copies its block once; the root copies its own unless in place.
// Memory   No put targets.
// Good for Long blocks on one node.
// Holds    Not synchronizing: only the root knows that all have entered.
// Next     ../mapped.hpp.
#include "collectives/mapped.hpp"

#include "collectives/scatter/scatter.hpp"

namespace weft::collectives {

namespace {

constexpr MappedCall kCall{
    .collective = "scatter",
    .summary = "each rank copies its block from the root's vector",
};

void write(MappedWriter& writer) {
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
