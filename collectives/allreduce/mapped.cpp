// SPDX-License-Identifier: BSD-3-Clause
// mapped.cpp - allreduce of slices, out of all inputs into all outputs.
//
// Idea     The vector has a slice for each rank. All expose to each rank its slice of input and
//          output; it reduces its slice of all inputs and writes it to all outputs, in one pass.
//          Two ranks with short vectors reduce all of them, each for itself: what the one writes is
//          not fetched by the other.
// Source   Huang et al., PiP-MColl, section III, chunked reduce; that results are pushed is ours.
// Rounds   2. Messages: none; 3 n (n - 1) signals, 4 of two ranks with short vectors.
// Bytes    Of m: n m are read and n m are written, a slice of each by each rank.
// Memory   No put targets. Two ranks: a vector of scratch in place; else it lies in the output.
// Good for Long vectors on one node.
// Holds    Synchronizing. In rank order; elements that two ranks compute have the same operands in
//          the same order. In place: who reduces a slice is the only one to read it, before it
//          writes it; two ranks keep the outcome aside until both are done with the inputs.
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

/// Up to so many bytes it pays to read twice as much in order to write nothing into the other's
/// cache.
constexpr std::uint64_t kForItselfBytes = 64 * 1024;

void write_for_itself(MappedWriter& writer) {
    const Rank other = 1 - writer.rank();
    writer.expose_input(other, plan::input(0, 2));
    writer.await(other, Purpose::input);
    std::vector<plan::Block> inputs;
    for (const Rank rank : {0, 1}) inputs.push_back(writer.block(rank, Purpose::input, 0, 2));
    writer->reduce(plan::scratch(0, 0, 2), inputs);
    writer.finish_with_all();
    writer->copy(plan::output(0, 2), plan::scratch(0, 0, 2));
}

void write(MappedWriter& writer) {
    if (writer.size() == 1) return writer->copy(plan::output(), plan::input());
    if (writer.size() == 2 && writer.bytes() <= kForItselfBytes) return write_for_itself(writer);
    writer.for_each_other([&](Rank peer) {
        const auto slice = static_cast<std::uint32_t>(peer);
        writer.expose_input(peer, plan::input(slice));
        writer.expose_output(peer, plan::output(slice));
    });
    writer.await_all(Purpose::input);
    writer.await_all(Purpose::output);
    writer->reduce(writer.blocks(Purpose::output, writer.own()),
                   writer.blocks(Purpose::input, writer.own()));
    writer.finish_with_all();
}

}  // namespace

Algorithm allreduce_mapped() {
    return mapped_algorithm<kCall, &write>();
}

}  // namespace weft::collectives
