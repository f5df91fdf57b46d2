// SPDX-License-Identifier: BSD-3-Clause
// ring.cpp - reduce_scatter around a ring.
//
// Idea     Block b starts at rank b + 1 and visits all ranks; each rank adds its part.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.7.
// Rounds   n - 1. Messages: n (n - 1).
// Bytes    A rank sends and reduces n - 1 blocks, all to the same neighbor.
// Memory   n - 1 slots of one block; one scratch vector.
// Good for Long blocks; messages only between neighbors.
// Holds    Synchronizing. Block b starts with rank b + 1, so operations must commute.
#include "collectives/ring.hpp"

#include "collectives/entries.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, Rank rank, Rank size) {
    const auto own = static_cast<std::uint32_t>(rank);
    reduce_around(writer, rank, size, [&](std::uint32_t kept) {
        return kept == own ? writer.output(own) : writer.scratch(0, kept);
    });
    if (size == 1) writer->copy(writer.output(own), writer.input(own));
}

base::Result<plan::Program> generate_ring(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    return program_by_blocks({.collective = "reduce_scatter", .synchronizing = true}, spec, request,
                             [&](BlockWriter& writer, const GenerateRequest&) {
                                 write(writer, request.rank, request.size);
                             });
}

}  // namespace

Algorithm reduce_scatter_ring() {
    return {
        .collective = "reduce_scatter",
        .name = "ring",
        .summary = "blocks go around a ring, and each rank adds its part",
        .source = "Rabenseifner, section 3.7",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.bit_identical = true, .synchronizing = true},
        .generate = &generate_ring,
    };
}

}  // namespace weft::collectives
