// SPDX-License-Identifier: BSD-3-Clause
// direct.cpp - allgather with puts from every rank to every other rank.
//
// Idea     Every rank puts its block to all other ranks, starting with the next rank.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.6.
// Rounds   1. Messages: n (n - 1).
// Bytes    A rank sends n - 1 blocks.
// Memory   n slots of one block; no scratch.
// Good for Few ranks, or ranks of one node: each publishes its block once, and all read
//          it in place.
// Holds    Synchronizing. All puts of rank p have number p and the same data, so they are kShared:
//          local peers may read one published copy.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, const GenerateRequest& request) {
    const auto own = as_u32(request.rank);
    writer->copy(writer.output(own), writer.input(own));
    for (Rank ahead = 1; ahead < request.size; ++ahead)
        writer->put((request.rank + ahead) % request.size, own, writer.output(own), plan::kShared);
    for (Rank back = 1; back < request.size; ++back) {
        const Rank from = (request.rank + request.size - back) % request.size;
        const auto block = as_u32(from);
        writer->wait(from, block, plan::kShared);
        writer->copy(writer.output(block), writer.slot(block, block));
    }
    if (request.size > 1) writer->reserve_slots(as_u32(request.size));
}

}  // namespace

Algorithm allgather_direct() {
    return {
        .collective = "allgather",
        .name = "direct",
        .summary = "every rank puts its block to all others",
        .source = "Hoefler and Moor, section 3.1.6",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = by_blocks({.collective = "allgather", .synchronizing = true}, write),
    };
}

}  // namespace weft::collectives
