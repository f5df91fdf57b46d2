// SPDX-License-Identifier: BSD-3-Clause
// direct.cpp - allgather straight from everybody to everybody.
//
// Idea     Every rank puts its block to all others, beginning with the rank behind it.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.6 (DS).
// Rounds   1. Messages: n (n - 1).
// Bytes    A rank sends n - 1 blocks.
// Memory   n slots of one block; no scratch.
// Good for Few ranks, or ranks that share a node: each publishes its block once and all read in place.
// Holds    Synchronizing. The number of a put is the sender's rank, so puts are kShared.
#include "collectives/allgather/allgather.hpp"
#include "collectives/blocks.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, Rank rank, Rank size) {
    const auto own = static_cast<std::uint32_t>(rank);
    writer->copy(writer.output(own), writer.input(own));
    for (Rank ahead = 1; ahead < size; ++ahead)
        writer->put((rank + ahead) % size, own, writer.output(own), plan::kShared);
    for (Rank back = 1; back < size; ++back) {
        const Rank from = (rank + size - back) % size;
        const auto block = static_cast<std::uint32_t>(from);
        writer->wait(from, block, plan::kShared);
        writer->copy(writer.output(block), writer.slot(block, block));
    }
    if (size > 1) writer->reserve_slots(static_cast<std::uint32_t>(size));
}

base::Result<plan::Program> generate_direct(const AlgorithmSpec& spec,
                                            const GenerateRequest& request) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("allgather", spec, request);
    header.root = plan::kNoRank;
    if (request.elements == 0) {
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    header.synchronizing = true;
    BlockWriter writer(std::move(header), static_cast<std::uint32_t>(request.size), *segments,
                       Cut::blocks);
    write(writer, request.rank, request.size);
    return std::move(writer).finish();
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
        .generate = &generate_direct,
    };
}

}  // namespace weft::collectives
