// SPDX-License-Identifier: BSD-3-Clause
// pairwise.cpp - reduce_scatter with puts from every rank to every other rank.
//
// Idea     Every rank puts to each other rank the block for it. Received blocks are combined
//          in rank order.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.7 (pairwise
//          exchange).
// Rounds   1: all puts are posted at once, starting with the next rank. Messages: n (n - 1).
// Bytes    A rank sends and reduces n - 1 blocks.
// Memory   n - 1 slots of one block; no scratch.
// Good for Long blocks on few ranks; operations that do not commute.
// Holds    Synchronizing. Combines in rank order.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

namespace {

void write_pairwise(BlockWriter& writer, const GenerateRequest& request) {
    const auto own = as_u32(request.rank);
    for (Rank ahead = 1; ahead < request.size; ++ahead) {
        const Rank to = (request.rank + ahead) % request.size;
        writer->put(to, as_u32(ahead - 1), writer.input(as_u32(to)));
    }
    std::vector<plan::Block> operands;
    for (Rank from = 0; from < request.size; ++from) {
        const auto number = as_u32((request.rank - from + request.size) % request.size - 1);
        if (from != request.rank) writer->wait(from, number);
        operands.push_back(from == request.rank ? writer.input(own) : writer.slot(number, own));
    }
    writer.combine(writer.output(own), operands);
}

}  // namespace

Algorithm reduce_scatter_pairwise() {
    return {
        .collective = "reduce_scatter",
        .name = "pairwise",
        .summary = "every rank puts to each other rank the block for it",
        .source = "Rabenseifner, section 3.7",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate =
            by_blocks({.collective = "reduce_scatter", .synchronizing = true}, write_pairwise),
    };
}

}  // namespace weft::collectives
