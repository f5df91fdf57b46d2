// SPDX-License-Identifier: BSD-3-Clause
// mapped.cpp - allreduce in which each rank reduces a slice of all inputs into all outputs.
//
// Idea     The vector has a slice for each rank. All ranks expose to each rank its slice of their
//          input and output. It reduces this slice of all inputs and writes the result to all
//          outputs, in one pass. Two ranks with short vectors each reduce the whole vector. So
//          neither has to fetch results that the other has written.
// Source   Huang et al., PiP-MColl, section III, chunked reduce; the push of results is ours.
// Rounds   2. Messages: none; 3 n (n - 1) signals, or 4 for two ranks with short vectors.
// Bytes    Of m: n m are read and n m are written, one slice by each rank.
// Memory   No put targets. Two ranks with short vectors: one scratch vector in place, else none.
// Good for Long vectors on one node.
// Holds    Synchronizing. Combines in rank order. If two ranks compute the same element, they use
//          the same order. In place, only the rank that reduces a slice reads it, before it
//          writes it. Two ranks with short vectors keep the result in scratch until both have
//          read the inputs.
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

/// Up to this size, two reads of the inputs take less time than writes to the peer's cache.
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
