// SPDX-License-Identifier: BSD-3-Clause
// ring.cpp - allgather around a ring.
//
// Idea     Each step every rank passes on to the next rank the block that came last, its own first.
// Source   Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH,
//          section 4.1.
// Rounds   n - 1. Messages: n (n - 1).
// Bytes    A rank sends n - 1 blocks, each to the same neighbour.
// Memory   n - 1 slots of one block; no scratch.
// Good for Long blocks: the least bytes, and neighbours only.
// Holds    Synchronizing: what has gone around has passed everybody.
#include "collectives/allgather/allgather.hpp"
#include "collectives/blocks.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, Rank rank, Rank size) {
    const auto block = [&](Rank back) {
        return static_cast<std::uint32_t>((rank + size - back) % size);
    };
    writer->copy(writer.output(block(0)), writer.input(block(0)));
    for (Rank step = 0; step < size - 1; ++step) {
        const auto number = static_cast<std::uint32_t>(step);
        writer->put((rank + 1) % size, number, writer.output(block(step)));
        writer->wait((rank + size - 1) % size, number);
        writer->copy(writer.output(block(step + 1)), writer.slot(number, block(step + 1)));
    }
}

base::Result<plan::Program> generate_ring(const AlgorithmSpec& spec,
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

Algorithm allgather_ring() {
    return {
        .collective = "allgather",
        .name = "ring",
        .summary = "blocks are passed around a ring",
        .source =
            "Thakur, Rabenseifner and Gropp, Optimization of collective communication operations "
            "in MPICH, section 4.1",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_ring,
    };
}

}  // namespace weft::collectives
