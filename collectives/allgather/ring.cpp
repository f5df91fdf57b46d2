// SPDX-License-Identifier: BSD-3-Clause
// ring.cpp - allgather around a ring.
//
// Idea     In each step every rank sends to the next rank the block that it received last, at
//          first its own.
// Source   Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in
//          MPICH, section 4.1.
// Rounds   n - 1. Messages: n (n - 1).
// Bytes    A rank sends n - 1 blocks, all to the same neighbor.
// Memory   n - 1 slots of one block, no slots with into=vector; no scratch.
// Good for Long blocks: least bytes, and only between neighbors.
// Holds    Synchronizing: every block has passed all ranks.
#include "collectives/ring.hpp"

#include "collectives/entries.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, const GenerateRequest& request, Landing into) {
    const auto own = static_cast<std::uint32_t>(request.rank);
    writer->copy(writer.output(own), writer.input(own));
    pass_around(writer, request.rank, request.size, 0, into);
}

base::Result<plan::Program> generate_ring(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    return program_that_lands({.collective = "allgather", .synchronizing = true}, spec, request,
                              write);
}

constexpr Properties kProperties{.ordered = true, .bit_identical = true, .synchronizing = true};

}  // namespace

Algorithm allgather_ring() {
    return {
        .collective = "allgather",
        .name = "ring",
        .summary = "blocks are passed around a ring",
        .source =
            "Thakur, Rabenseifner and Gropp, Optimization of collective communication operations "
            "in MPICH, section 4.1",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}, kIntoParameter},
        .properties = kProperties,
        .generate = &generate_ring,
        .refine = &with_landing<kProperties>,
    };
}

}  // namespace weft::collectives
