// SPDX-License-Identifier: BSD-3-Clause
// pairwise.cpp - reduce_scatter straight from everybody to everybody.
//
// Idea     Every rank puts to each other rank that one's block; what has come is combined in rank order.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.7 (pairwise exchange).
// Rounds   1: all puts are posted at once, beginning with the rank behind. Messages: n (n - 1).
// Bytes    A rank sends and reduces n - 1 blocks.
// Memory   n - 1 slots of one block; no scratch.
// Good for Long blocks on few ranks; operations that do not commute.
// Holds    Synchronizing. In rank order.
#include "collectives/blocks.hpp"
#include "collectives/reduce_scatter/reduce_scatter.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, Rank rank, Rank size) {
    const auto own = static_cast<std::uint32_t>(rank);
    for (Rank ahead = 1; ahead < size; ++ahead) {
        const Rank to = (rank + ahead) % size;
        writer->put(to, static_cast<std::uint32_t>(ahead - 1),
                    writer.input(static_cast<std::uint32_t>(to)));
    }
    std::vector<plan::Block> operands;
    for (Rank from = 0; from < size; ++from) {
        const auto number = static_cast<std::uint32_t>((rank - from + size) % size - 1);
        if (from != rank) writer->wait(from, number);
        operands.push_back(from == rank ? writer.input(own) : writer.slot(number, own));
    }
    if (size == 1) {
        writer->copy(writer.output(own), operands.front());
    } else {
        writer->reduce(writer.output(own), operands);
    }
}

base::Result<plan::Program> generate_pairwise(const AlgorithmSpec& spec,
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

Algorithm reduce_scatter_pairwise() {
    return {
        .collective = "reduce_scatter",
        .name = "pairwise",
        .summary = "every rank puts to each other rank that one's block",
        .source = "Rabenseifner, section 3.7",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_pairwise,
    };
}

}  // namespace weft::collectives
