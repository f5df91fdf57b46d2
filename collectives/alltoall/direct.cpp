// SPDX-License-Identifier: BSD-3-Clause
// direct.cpp - alltoall with puts from every rank to every other rank.
//
// Idea     Every rank puts to each other rank the block for it, starting with the next rank.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.6.
// Rounds   1. Messages: n (n - 1).
// Bytes    A rank sends n - 1 blocks, the minimum.
// Memory   n - 1 slots of one block; no scratch. With into=vector no slots, and a scratch
//          buffer in place.
// Good for Medium and long blocks.
// Holds    Synchronizing.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

namespace {

/// In place, arriving blocks would overwrite unsent blocks, so all blocks are sent from scratch. If
/// input and output differ, run/bind replaces this scratch copy by the input.
void write_directly(BlockWriter& writer, const GenerateRequest& request) {
    const auto own = as_u32(request.rank);
    const auto blocks = as_u32(request.size);
    if (blocks == 1) return writer->copy(writer.output(0), writer.input(0));
    const auto exposed = [&](std::uint32_t by) { return blocks - 1 + by; };
    writer->reserve_slots(exposed(blocks));
    writer->copy(writer.scratch(0, 0, blocks), writer.input(0, blocks));
    const auto peer = [&](Rank ahead) { return (request.rank + ahead) % request.size; };
    for (Rank ahead = 1; ahead < request.size; ++ahead) {
        const Rank from = peer(request.size - ahead);
        writer->expose(from, exposed(own), writer.output(as_u32(from)), plan::kWritten);
    }
    writer->copy(writer.output(own), writer.scratch(0, own));
    for (Rank ahead = 1; ahead < request.size; ++ahead) {
        const auto to = as_u32(peer(ahead));
        writer->wait(peer(ahead), exposed(to));
        put_into_place(writer, peer(ahead), as_u32(ahead - 1), exposed(to), writer.scratch(0, to));
    }
    for (Rank back = 1; back < request.size; ++back)
        writer->wait(peer(request.size - back), as_u32(back - 1));
}

void write_alltoall(BlockWriter& writer, const GenerateRequest& request, Delivery into) {
    if (into == Delivery::direct) return write_directly(writer, request);
    const auto own = as_u32(request.rank);
    for (Rank ahead = 1; ahead < request.size; ++ahead) {
        const Rank to = (request.rank + ahead) % request.size;
        writer->put(to, as_u32(ahead - 1), writer.input(as_u32(to)));
    }
    writer->copy(writer.output(own), writer.input(own));
    if (request.size > 1) writer->flush();  // in place, arriving blocks overwrite sent ones
    for (Rank back = 1; back < request.size; ++back) {
        const Rank from = (request.rank + request.size - back) % request.size;
        const auto number = as_u32(back - 1);
        writer->wait(from, number);
        writer->copy(writer.output(as_u32(from)), writer.slot(number, own));
    }
}

}  // namespace

Algorithm alltoall_direct() {
    return {
        .collective = "alltoall",
        .name = "direct",
        .summary = "every rank puts to each other rank the block for it",
        .source = "Hoefler and Moor, section 3.1.6",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}, kIntoParameter},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = by_blocks({.collective = "alltoall", .synchronizing = true}, write_alltoall),
    };
}

}  // namespace weft::collectives
