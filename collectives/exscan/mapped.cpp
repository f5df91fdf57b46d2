// SPDX-License-Identifier: BSD-3-Clause
// mapped.cpp - exscan in which each rank computes a slice for all ranks.
//
// Idea     The vector has a slice for each rank. All ranks expose to each rank its slice of their
//          input and output; the first rank exposes no output. A rank visits all ranks with its
//          slice in order. At each rank it adds the rank's input to a new sum, and then writes the
//          previous sum to the rank's output.
// Source   Ours.
// Rounds   2. Messages: none; (3n - 1)(n - 1) signals.
// Bytes    Of m, for three ranks and more: 3 (n - 2) m are read and 2 (n - 2) m are written, one
//          slice by each rank. n - 1 vectors of each are memory of the ranks; the rest stays in the
//          cache if a slice fits there.
// Memory   No put targets. Two slices of scratch, or one for four ranks.
// Good for Long vectors on one node: no rank waits for the results of earlier ranks.
// Holds    Synchronizing. Combines in rank order; one rank computes each element. In place, a
//          rank's input is read before its output is written. So sums are computed in scratch, not
//          in the outputs.
// Next     ../mapped.hpp.
#include "collectives/mapped.hpp"

#include "collectives/exscan/exscan.hpp"

namespace weft::collectives {

namespace {

constexpr MappedCall kCall{
    .collective = "exscan",
    .summary = "each rank goes with its slice through all inputs and outputs",
    .source = "ours",
    .synchronizing = true,
};

void expose(MappedWriter& writer) {
    writer.for_each_other([&](Rank peer) {
        const auto slice = static_cast<std::uint32_t>(peer);
        writer.expose_input(peer, plan::input(slice));
        if (writer.rank() > 0) writer.expose_output(peer, plan::output(slice));
    });
    writer.await_all(Purpose::input);
    writer.for_each_other([&](Rank peer) {
        if (peer > 0) writer.await(peer, Purpose::output);
    });
}

void write(MappedWriter& writer) {
    if (writer.size() == 1) return;
    expose(writer);
    const std::uint32_t own = writer.own();
    const Rank last = writer.size() - 1;
    plan::Block sum = writer.block(0, Purpose::input, own);  // over the ranks before `rank`
    for (Rank rank = 1; rank < last; ++rank) {
        const plan::Block next = rank + 1 == last
                                     ? writer.block(last, Purpose::output, own)
                                     : plan::scratch(static_cast<std::uint32_t>(rank - 1) % 2, own);
        writer->reduce(next, {sum, writer.block(rank, Purpose::input, own)});
        writer->copy(writer.block(rank, Purpose::output, own), sum);
        sum = next;
    }
    if (last == 1) writer->copy(writer.block(1, Purpose::output, own), sum);
    writer.finish_with_all();
}

}  // namespace

Algorithm exscan_mapped() {
    return mapped_algorithm<kCall, &write>();
}

}  // namespace weft::collectives
