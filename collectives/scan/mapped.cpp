// SPDX-License-Identifier: BSD-3-Clause
// mapped.cpp - scan in which each rank computes a slice for all ranks.
//
// Idea     The vector has a slice for each rank. All ranks expose to each rank its slice of their
//          input and output. A rank visits all ranks with its slice in order. It combines the
//          previous rank's output with a rank's input, and writes the result to that rank's output.
// Source   Ours.
// Rounds   2. Messages: none; 3 n (n - 1) signals.
// Bytes    Of m: (2n - 1) m are read and n m are written, one slice by each rank. If a slice fits
//          in the cache, the last result is read from there.
// Memory   No put targets.
// Good for Long vectors on one node: no rank waits for the results of earlier ranks.
// Holds    Synchronizing. Combines in rank order; one rank computes each element. In place, a
//          rank's input is read before its output is written.
// Next     ../mapped.hpp.
#include "collectives/mapped.hpp"

#include "collectives/scan/scan.hpp"

namespace weft::collectives {

namespace {

constexpr MappedCall kCall{
    .collective = "scan",
    .summary = "each rank goes with its slice through all inputs and outputs",
    .source = "ours",
    .synchronizing = true,
};

void write(MappedWriter& writer) {
    writer.for_each_other([&](Rank peer) {
        const auto slice = static_cast<std::uint32_t>(peer);
        writer.expose_input(peer, plan::input(slice));
        writer.expose_output(peer, plan::output(slice));
    });
    writer.await_all(Purpose::input);
    writer.await_all(Purpose::output);
    const std::uint32_t own = writer.own();
    writer->copy(writer.block(0, Purpose::output, own), writer.block(0, Purpose::input, own));
    for (Rank rank = 1; rank < writer.size(); ++rank)
        writer->reduce(writer.block(rank, Purpose::output, own),
                       {writer.block(rank - 1, Purpose::output, own),
                        writer.block(rank, Purpose::input, own)});
    writer.finish_with_all();
}

}  // namespace

Algorithm scan_mapped() {
    return mapped_algorithm<kCall, &write>();
}

}  // namespace weft::collectives
