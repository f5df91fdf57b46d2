// SPDX-License-Identifier: BSD-3-Clause
// direct.cpp - alltoall straight from all ranks to all ranks.
//
// Idea     Every rank puts to each other rank that one's block, beginning with the next rank.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.6 (DS,
//          personalised).
// Rounds   1. Messages: n (n - 1).
// Bytes    A rank sends n - 1 blocks: the least.
// Memory   n - 1 slots of one block; no scratch.
// Good for Middle and long blocks.
// Holds    Synchronizing.
#include "collectives/alltoall/alltoall.hpp"
#include "collectives/blocks.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, const GenerateRequest& request) {
    const auto own = static_cast<std::uint32_t>(request.rank);
    for (Rank ahead = 1; ahead < request.size; ++ahead) {
        const Rank to = (request.rank + ahead) % request.size;
        writer->put(to, static_cast<std::uint32_t>(ahead - 1),
                    writer.input(static_cast<std::uint32_t>(to)));
    }
    writer->copy(writer.output(own), writer.input(own));
    if (request.size > 1) writer->flush();  // in place, blocks come where others were sent from
    for (Rank back = 1; back < request.size; ++back) {
        const Rank from = (request.rank + request.size - back) % request.size;
        const auto number = static_cast<std::uint32_t>(back - 1);
        writer->wait(from, number);
        writer->copy(writer.output(static_cast<std::uint32_t>(from)), writer.slot(number, own));
    }
}

base::Result<plan::Program> generate_direct(const AlgorithmSpec& spec,
                                            const GenerateRequest& request) {
    return program_by_blocks({.collective = "alltoall", .synchronizing = true}, spec, request,
                             write);
}

}  // namespace

Algorithm alltoall_direct() {
    return {
        .collective = "alltoall",
        .name = "direct",
        .summary = "every rank puts to each other rank that one's block",
        .source = "Hoefler and Moor, section 3.1.6",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_direct,
    };
}

}  // namespace weft::collectives
