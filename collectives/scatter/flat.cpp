// SPDX-License-Identifier: BSD-3-Clause
// flat.cpp - scatter straight from the root to everybody.
//
// Idea     The root puts each rank's block to it, beginning with the rank behind it.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.1 (flat tree, personalised).
// Rounds   1. Messages: n - 1, all from the root.
// Bytes    The root sends n - 1 blocks.
// Memory   One slot of one block; with segments two copies of it, and n - 1 credits at the root.
// Good for Long blocks: nothing is forwarded. Few ranks.
// Holds    Not synchronizing. The number of a credit is that of the rank behind the root.
#include "collectives/blocks.hpp"
#include "collectives/scatter/scatter.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, const GenerateRequest& request) {
    constexpr std::uint32_t kData = 0;
    constexpr std::uint32_t kCredit = 1;
    const auto own = static_cast<std::uint32_t>(request.rank);
    if (request.rank == request.root) {
        writer->copy(writer.output(own), writer.input(own));
        for (Rank ahead = 1; ahead < request.size; ++ahead) {
            const Rank to = (request.root + ahead) % request.size;
            writer.await_credit(to, kCredit + static_cast<std::uint32_t>(ahead - 1));
            writer->put(to, kData, writer.input(static_cast<std::uint32_t>(to)));
        }
    } else {
        const Rank ahead = (request.rank - request.root + request.size) % request.size;
        writer->wait(request.root, kData);
        writer->copy(writer.output(own), writer.slot(kData, own));
        writer.give_credit(request.root, kCredit + static_cast<std::uint32_t>(ahead - 1));
    }
    if (request.size == 1) return;
    writer->reserve_capacity(kData, 1);
    writer.reserve_credits(kCredit, static_cast<std::uint32_t>(request.size - 1));
}

base::Result<plan::Program> generate_flat(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("scatter", spec, request);
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

Algorithm scatter_flat() {
    return {
        .collective = "scatter",
        .name = "flat",
        .summary = "the root puts each rank's block to it",
        .source = "Hoefler and Moor, section 3.1.1",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_flat,
    };
}

}  // namespace weft::collectives
