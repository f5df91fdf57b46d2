// SPDX-License-Identifier: BSD-3-Clause
// recursive_doubling.cpp - scan by recursive doubling.
//
// Idea     In step k rank r puts the reduction over the last 2^k ranks, its own included, to rank r + 2^k,
//          which puts it in front of what it has.
// Source   Hillis and Steele, Data parallel algorithms; Traeff, exclusive scan algorithms.
// Rounds   ceil(log2 n). Messages: n - 2^k in step k.
// Bytes    A rank sends at most ceil(log2 n) vectors and reduces as many.
// Memory   A slot for each step, with segments two copies each and as many credits; no scratch vector.
// Good for Short vectors.
// Holds    Not synchronizing. In rank order.
#include "collectives/blocks.hpp"
#include "collectives/scan/scan.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, Rank rank, Rank size) {
    const auto steps =
        static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint32_t>(size) - 1));
    writer->copy(writer.output(0), writer.input(0));
    for (std::uint32_t step = 0; step < steps; ++step) {
        const Rank far = Rank{1} << step;
        const bool sends = rank + far < size;
        if (sends) {
            writer.await_credit(rank + far, steps + step);
            writer->put(rank + far, step, writer.output(0));
        }
        if (rank < far) continue;
        writer->wait(rank - far, step);
        if (sends) writer->flush();
        writer->reduce(writer.output(0), {writer.slot(step, 0), writer.output(0)});
        writer.give_credit(rank - far, steps + step);
    }
    for (std::uint32_t step = 0; step < steps; ++step) writer->reserve_capacity(step, 1);
    writer.reserve_credits(steps, steps);
}

base::Result<plan::Program> generate_recursive_doubling(const AlgorithmSpec& spec,
                                                        const GenerateRequest& request) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("scan", spec, request);
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

Algorithm scan_recursive_doubling() {
    return {
        .collective = "scan",
        .name = "recursive-doubling",
        .summary = "ranks add what the one 2^k before has, k = 0, 1, ..",
        .source = "Hillis and Steele, Data parallel algorithms",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true},
        .generate = &generate_recursive_doubling,
    };
}

}  // namespace weft::collectives
