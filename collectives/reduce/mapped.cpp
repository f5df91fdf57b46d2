// SPDX-License-Identifier: BSD-3-Clause
// mapped.cpp - reduce in which each rank reduces a slice into the root's output.
//
// Idea     The vector has a slice for each rank. All ranks expose their inputs to all, and
//          the root its output. Each rank reduces its slice of all inputs and writes it to
//          the root's output.
// Source   Huang et al., PiP-MColl, section III, chunked reduce to the root.
// Rounds   2. Messages: none; 2 n (n - 1) + n - 1 signals.
// Bytes    Of m: n m are read and m are written, one slice by each rank.
// Memory   No put targets.
// Good for Long vectors on one node.
// Holds    Synchronizing. Combines in rank order; one rank computes each element. In place, only
//          the rank that reduces a slice reads it, before it writes it.
// Next     ../mapped.hpp.
#include "collectives/mapped.hpp"

#include "collectives/reduce/reduce.hpp"

namespace weft::collectives {

namespace {

constexpr MappedCall kCall{
    .collective = "reduce",
    .summary = "each rank reduces its slice of all inputs into the root's output",
    .synchronizing = true,
};

void write(MappedWriter& writer) {
    if (writer.size() == 1) return writer->copy(plan::output(), plan::input());
    writer.for_each_other([&](Rank peer) {
        const auto slice = static_cast<std::uint32_t>(peer);
        writer.expose_input(peer, plan::input(slice));
        if (writer.is_root()) writer.expose_output(peer, plan::output(slice));
    });
    writer.await_all(Purpose::input);
    if (!writer.is_root()) writer.await(writer.root(), Purpose::output);
    writer->reduce(writer.block(writer.root(), Purpose::output, writer.own()),
                   writer.blocks(Purpose::input, writer.own()));
    writer.finish_with_all();
}

}  // namespace

Algorithm reduce_mapped() {
    return mapped_algorithm<kCall, &write>();
}

}  // namespace weft::collectives
