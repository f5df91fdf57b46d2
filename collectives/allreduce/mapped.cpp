// SPDX-License-Identifier: BSD-3-Clause
// mapped.cpp - allreduce of slices, out of all inputs into all outputs.
//
// Idea     The vector has a slice for each rank. All expose input and output to all; each rank
//          reduces its slice of all inputs and writes it to all outputs, in one pass.
// Source   Huang et al., PiP-MColl, section III, chunked reduce; that results are pushed is ours.
// Rounds   2. Messages: none; 3 n (n - 1) signals.
// Bytes    Of m: n m are read and n m are written, a slice of each by each rank.
// Memory   No put targets.
// Good for Long vectors on one node.
// Holds    Synchronizing. In rank order, each element computed by one rank. In place: who reduces a
//          slice is the only one to read it, before it writes it.
// Next     ../mapped.hpp.
#include "collectives/mapped.hpp"

#include "collectives/allreduce/allreduce.hpp"

namespace weft::collectives {

namespace {

constexpr MappedCall kCall{
    .collective = "allreduce",
    .summary = "each rank reduces its slice of all inputs into all outputs",
    .synchronizing = true,
};

void write(MappedWriter& writer) {
    if (writer.size() == 1) return writer->copy(plan::output(), plan::input());
    const auto slices = static_cast<std::uint32_t>(writer.size());
    writer.for_each_other([&](Rank peer) {
        writer.expose_input(peer, plan::input(0, slices));
        writer.expose_output(peer, plan::output(0, slices));
    });
    writer.await_all(Purpose::input);
    writer.await_all(Purpose::output);
    writer->reduce(writer.slices(Purpose::output, writer.own()),
                   writer.slices(Purpose::input, writer.own()));
    writer.finish_with_all();
}

}  // namespace

Algorithm allreduce_mapped() {
    return mapped_algorithm<kCall, &write>();
}

}  // namespace weft::collectives
