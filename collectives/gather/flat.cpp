// SPDX-License-Identifier: BSD-3-Clause
// flat.cpp - gather straight from everybody to the root.
//
// Idea     Every rank puts its block to the root.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.1 (flat tree, personalised).
// Rounds   1. Messages: n - 1, all to the root.
// Bytes    Every rank but the root sends one block.
// Memory   n slots of one block, all of them at the root; with segments two copies each, and a credit.
// Good for Long blocks: nothing is forwarded. Few ranks, or ranks that share a node.
// Holds    Not synchronizing. A rank's number is its rank.
#include "collectives/blocks.hpp"
#include "collectives/gather/gather.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, const GenerateRequest& request) {
    const auto own = static_cast<std::uint32_t>(request.rank);
    const auto credit = static_cast<std::uint32_t>(request.size);
    if (request.rank != request.root) {
        writer.await_credit(request.root, credit);
        writer->put(request.root, own, writer.input(own));
    } else {
        writer->copy(writer.output(own), writer.input(own));
    }
    for (Rank rank = 0; rank < request.size; ++rank) {
        const auto number = static_cast<std::uint32_t>(rank);
        writer->reserve_capacity(number, rank == request.root ? 0 : 1);
        if (request.rank != request.root || rank == request.root) continue;
        writer->wait(rank, number);
        writer->copy(writer.output(number), writer.slot(number, number));
        writer.give_credit(rank, credit);
    }
    writer.reserve_credits(credit, 1);
}

base::Result<plan::Program> generate_flat(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("gather", spec, request);
    if (request.elements == 0) {
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    BlockWriter writer(std::move(header), static_cast<std::uint32_t>(request.size), *segments,
                       Cut::blocks);
    write(writer, request);
    return std::move(writer).finish();
}

}  // namespace

Algorithm gather_flat() {
    return {
        .collective = "gather",
        .name = "flat",
        .summary = "every rank puts its block to the root",
        .source = "Hoefler and Moor, section 3.1.1",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_flat,
    };
}

}  // namespace weft::collectives
