// SPDX-License-Identifier: BSD-3-Clause
// linear.cpp - exscan from rank to rank.
//
// Idea     Each rank gets the reduction over the ranks before it from the one before, adds its own value and
//          puts the sum to the next one; long vectors follow in pieces.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.4 (linear pipeline).
// Rounds   n - 1 for one piece; s pieces overlap. Messages: s (n - 1), one credit for each but two.
// Bytes    Every rank but the last sends one vector; every one but the first (and the last) reduces one.
// Memory   One slot with two copies, one credit, one scratch vector.
// Good for Long vectors: nobody sends or reduces more than one. Unless given, pieces have about 8 KiB.
// Holds    Not synchronizing. In rank order.
#include "collectives/blocks.hpp"
#include "collectives/exscan/exscan.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, Rank rank, Rank size) {
    constexpr std::uint32_t kData = 0;
    constexpr std::uint32_t kCredit = 1;
    if (rank > 0) {
        writer->wait(rank - 1, kData);
        // Before the output is written, which may be the input.
        if (rank + 1 < size)
            writer->reduce(writer.scratch(0, 0), {writer.slot(kData, 0), writer.input(0)});
        writer->copy(writer.output(0), writer.slot(kData, 0));
        writer.give_credit(rank - 1, kCredit);
    }
    if (rank + 1 < size) {
        writer.await_credit(rank + 1, kCredit);
        writer->put(rank + 1, kData, rank == 0 ? writer.input(0) : writer.scratch(0, 0));
    }
    if (size == 1) return;
    writer->reserve_capacity(kData, 1);
    writer.reserve_credits(kCredit, 1);
}

base::Result<plan::Program> generate_linear(const AlgorithmSpec& spec,
                                            const GenerateRequest& request) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, in_pieces(spec, request));
    if (!segments) return segments.failure();
    plan::Program header = program_header("exscan", spec, request);
    header.root = plan::kNoRank;
    if (request.elements == 0) {
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    BlockWriter writer(std::move(header), 1, *segments);
    write(writer, request.rank, request.size);
    return std::move(writer).finish();
}

}  // namespace

Algorithm exscan_linear() {
    return {
        .collective = "exscan",
        .name = "linear",
        .summary = "each rank adds its value to that of the one before, piece by piece",
        .source = "Hoefler and Moor, section 3.1.4",
        .parameters = {{"segments", "by size", kSegmentsHelp, "2,5"}},
        .properties = {.ordered = true, .bit_identical = true},
        .generate = &generate_linear,
    };
}

}  // namespace weft::collectives
