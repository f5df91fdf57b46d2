// SPDX-License-Identifier: BSD-3-Clause
// ring.cpp - reduce_scatter around a ring.
//
// Idea     Block b starts at rank b + 1 and goes once around; each rank adds its part on the way.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.4.
// Rounds   n - 1. Messages: n (n - 1).
// Bytes    A rank sends and reduces n - 1 blocks, each to the same neighbour.
// Memory   n - 1 slots of one block; one scratch vector.
// Good for Long blocks, neighbours only.
// Holds    Synchronizing. Block b starts with rank b + 1: for operations that commute.
#include "collectives/blocks.hpp"
#include "collectives/reduce_scatter/reduce_scatter.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, Rank rank, Rank size) {
    const auto own = static_cast<std::uint32_t>(rank);
    const auto block = [&](Rank back) {
        return static_cast<std::uint32_t>((rank + 2 * size - back) % size);
    };
    for (Rank step = 0; step < size - 1; ++step) {
        const auto number = static_cast<std::uint32_t>(step);
        const std::uint32_t sent = block(step + 1);
        const std::uint32_t kept = block(step + 2);
        writer->put((rank + 1) % size, number,
                    step == 0 ? writer.input(sent) : writer.scratch(0, sent));
        writer->wait((rank + size - 1) % size, number);
        writer->reduce(kept == own ? writer.output(own) : writer.scratch(0, kept),
                       {writer.slot(number, kept), writer.input(kept)});
    }
    if (size == 1) writer->copy(writer.output(own), writer.input(own));
}

base::Result<plan::Program> generate_ring(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("reduce_scatter", spec, request);
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

Algorithm reduce_scatter_ring() {
    return {
        .collective = "reduce_scatter",
        .name = "ring",
        .summary = "blocks go around a ring, and each rank adds its part",
        .source = "Rabenseifner, section 3.4",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.bit_identical = true, .synchronizing = true},
        .generate = &generate_ring,
    };
}

}  // namespace weft::collectives
