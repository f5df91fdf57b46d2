// SPDX-License-Identifier: BSD-3-Clause
// direct.cpp - allgather, alltoall and reduce_scatter (`pairwise`) with puts from every rank to
// every other rank.
//
// Idea     Every rank puts its block (allgather) or the block for the receiver to all other ranks,
//          starting with the next rank. reduce_scatter: blocks are combined in rank order.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.6. reduce_scatter:
//          Rabenseifner, Optimization of collective reduction operations, section 3.7 (pairwise
//          exchange).
// Rounds   1. Messages: n (n - 1).
// Bytes    A rank sends n - 1 blocks; in a reduce_scatter it also reduces n - 1.
// Memory   allgather: n slots of one block. alltoall, reduce_scatter: n - 1. No scratch. alltoall
//          with into=vector: no slots, and a scratch buffer in place.
// Good for Few ranks. allgather: also ranks of one node, since each publishes its block once and
//          all read it in place. alltoall: medium and long blocks. reduce_scatter: long blocks, and
//          operations that do not commute.
// Holds    Synchronizing. In an allgather all puts of rank p have number p and the same data, so
//          they are kShared: local peers may read one published copy.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

namespace {

void write_allgather(BlockWriter& writer, const GenerateRequest& request) {
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

/// In place, arriving blocks would overwrite unsent blocks, so all blocks are sent from scratch. If
/// input and output differ, run/bind replaces this scratch copy by the input.
void write_alltoall_directly(BlockWriter& writer, const GenerateRequest& request) {
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

/// Puts the block for each other rank. The number of a put is the distance, less one.
void put_blocks(BlockWriter& writer, const GenerateRequest& request) {
    for (Rank ahead = 1; ahead < request.size; ++ahead) {
        const Rank to = (request.rank + ahead) % request.size;
        writer->put(to, as_u32(ahead - 1), writer.input(as_u32(to)));
    }
}

void write_alltoall(BlockWriter& writer, const GenerateRequest& request, Delivery into) {
    if (into == Delivery::direct) return write_alltoall_directly(writer, request);
    const auto own = as_u32(request.rank);
    put_blocks(writer, request);
    writer->copy(writer.output(own), writer.input(own));
    if (request.size > 1) writer->flush();  // in place, arriving blocks overwrite sent ones
    for (Rank back = 1; back < request.size; ++back) {
        const Rank from = (request.rank + request.size - back) % request.size;
        const auto number = as_u32(back - 1);
        writer->wait(from, number);
        writer->copy(writer.output(as_u32(from)), writer.slot(number, own));
    }
}

void write_reduce_scatter(BlockWriter& writer, const GenerateRequest& request) {
    const auto own = as_u32(request.rank);
    put_blocks(writer, request);
    std::vector<plan::Block> operands;
    for (Rank from = 0; from < request.size; ++from) {
        const auto number = as_u32((request.rank - from + request.size) % request.size - 1);
        if (from != request.rank) writer->wait(from, number);
        operands.push_back(from == request.rank ? writer.input(own) : writer.slot(number, own));
    }
    writer.combine(writer.output(own), operands);
}

constexpr Properties kProperties{.ordered = true, .bit_identical = true, .synchronizing = true};

}  // namespace

Algorithm allgather_direct() {
    return {.collective = "allgather",
            .name = "direct",
            .summary = "every rank puts its block to all others",
            .source = "Hoefler and Moor, section 3.1.6",
            .parameters = {kTriedSegments},
            .properties = kProperties,
            .generate = by_blocks({}, write_allgather)};
}
Algorithm alltoall_direct() {
    return {.collective = "alltoall",
            .name = "direct",
            .summary = "every rank puts to each other rank the block for it",
            .source = "Hoefler and Moor, section 3.1.6",
            .parameters = {kTriedSegments, kIntoParameter},
            .properties = kProperties,
            .generate = by_blocks({}, write_alltoall)};
}
Algorithm reduce_scatter_pairwise() {
    return {.collective = "reduce_scatter",
            .name = "pairwise",
            .summary = "every rank puts to each other rank the block for it",
            .source = "Rabenseifner, section 3.7",
            .parameters = {kTriedSegments},
            .properties = kProperties,
            .generate = by_blocks({}, write_reduce_scatter)};
}

}  // namespace weft::collectives
