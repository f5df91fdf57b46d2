// SPDX-License-Identifier: BSD-3-Clause
// mapped.cpp - reduce-scatter in which each rank reads the inputs of all ranks.
//
// Idea     All ranks expose to each rank its block of their input. Each rank reduces these blocks
//          into its output.
// Source   Huang et al., PiP-MColl, section III.
// Rounds   2. Messages: none; 2 n (n - 1) signals.
// Bytes    Each rank reads n blocks and writes one.
// Memory   No put targets.
// Good for Long blocks on one node.
// Holds    Synchronizing. Combines in rank order. In place, only its owner reads the block
//          that is written.
// Next     ../mapped.hpp.
#include "collectives/mapped.hpp"

#include "collectives/reduce_scatter/reduce_scatter.hpp"

namespace weft::collectives {

namespace {

constexpr MappedCall kCall{
    .collective = "reduce_scatter",
    .summary = "each rank reduces its block of all inputs",
    .synchronizing = true,
};

void write(MappedWriter& writer) {
    if (writer.size() == 1) return writer->copy(plan::output(), plan::input());
    writer.for_each_other([&](Rank peer) {
        writer.expose_input(peer, plan::input(static_cast<std::uint32_t>(peer)));
    });
    writer.await_all(Purpose::input);
    std::vector<plan::Block> operands;
    for (Rank peer = 0; peer < writer.size(); ++peer)
        operands.push_back(writer.block(peer, Purpose::input, writer.own()));
    writer->reduce(plan::output(writer.own()), operands);
    writer.finish_with_all();
}

}  // namespace

Algorithm reduce_scatter_mapped() {
    return mapped_algorithm<kCall, &write>();
}

}  // namespace weft::collectives
