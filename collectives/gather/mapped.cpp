// SPDX-License-Identifier: BSD-3-Clause
// mapped.cpp - gather in which ranks copy directly into the root's memory.
//
// Idea     The root exposes to each rank the place of its block in the output. Each rank copies its
//          block there and signals the root that it is done.
// Source   Huang et al., PiP-MColl, section III.
// Rounds   2. Messages: none; 2 (n - 1) signals.
// Bytes    Each rank copies its block once; the root copies its own unless in place.
// Memory   No put targets.
// Good for Long blocks on one node: the root does not have to copy all of them.
// Holds    Not synchronizing: only the root knows that all have entered.
// Next     ../mapped.hpp.
#include "collectives/mapped.hpp"

#include "collectives/gather/gather.hpp"

namespace weft::collectives {

namespace {

constexpr MappedCall kCall{
    .collective = "gather",
    .summary = "each rank copies its block into the root's vector",
};

void write(MappedWriter& writer) {
    const Rank root = writer.root();
    if (!writer.is_root()) {
        writer.await(root, Purpose::output);
        writer->copy(writer.block(root, Purpose::output, writer.own()), plan::input(writer.own()));
        return writer.tell_done(root);
    }
    writer.for_each_other([&](Rank peer) {
        writer.expose_output(peer, plan::output(static_cast<std::uint32_t>(peer)));
    });
    writer->copy(plan::output(writer.own()), plan::input(writer.own()));
    writer.await_all(Purpose::done);
}

}  // namespace

Algorithm gather_mapped() {
    return mapped_algorithm<kCall, &write>();
}

}  // namespace weft::collectives
