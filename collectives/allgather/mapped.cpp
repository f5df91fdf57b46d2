// SPDX-License-Identifier: BSD-3-Clause
// mapped.cpp - allgather that copies from the memory of all ranks.
//
// Idea     All ranks expose their blocks to all. Each rank copies every block directly into its
//          output, from the next rank's block on.
// Source   Huang et al., PiP-MColl, section III.
// Rounds   2. Messages: none; 2 n (n - 1) signals.
// Bytes    Each rank copies n - 1 blocks from other ranks, and its own block unless in place.
// Memory   No put targets.
// Good for Long blocks on one node.
// Holds    Synchronizing. In place, no rank writes the block that others read.
// Next     ../mapped.hpp.
#include "collectives/mapped.hpp"

#include "collectives/allgather/allgather.hpp"

namespace weft::collectives {

namespace {

constexpr MappedCall kCall{
    .collective = "allgather",
    .summary = "each rank copies all blocks from their owners",
    .synchronizing = true,
};

void write(MappedWriter& writer) {
    writer.for_each_other([&](Rank peer) { writer.expose_input(peer, plan::input(writer.own())); });
    writer->copy(plan::output(writer.own()), plan::input(writer.own()));
    writer.for_each_other([&](Rank peer) {
        const auto number = static_cast<std::uint32_t>(peer);
        writer.await(peer, Purpose::input);
        writer->copy(plan::output(number), writer.block(peer, Purpose::input, number));
        writer.tell_done(peer);
    });
    writer.await_all(Purpose::done);
}

}  // namespace

Algorithm allgather_mapped() {
    return mapped_algorithm<kCall, &write>();
}

}  // namespace weft::collectives
