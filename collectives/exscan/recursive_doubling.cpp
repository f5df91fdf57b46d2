// SPDX-License-Identifier: BSD-3-Clause
// recursive_doubling.cpp - exscan by recursive doubling.
//
// Idea     In step k rank r puts the reduction over the last 2^k ranks, its own included, to rank r + 2^k,
//          which puts it in front of what it has.
// Source   Hillis and Steele, Data parallel algorithms; Traeff, exclusive scan algorithms.
// Rounds   ceil(log2 n). Messages: n - 2^k in step k.
// Bytes    A rank sends at most ceil(log2 n) vectors and reduces twice as many less one.
// Memory   A slot for each step, with segments two copies each and as many credits; one scratch vector.
// Good for Short vectors.
// Holds    Not synchronizing. In rank order.
#include "collectives/blocks.hpp"
#include "collectives/exscan/exscan.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, Rank rank, Rank size) {
    const auto steps =
        static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint32_t>(size) - 1));
    // The reduction over the last ranks lies in the input at first, then in scratch; the same without the own
    // value comes into the output as soon as nobody reads the input any more, which may be the same memory.
    plan::Block last = writer.input(0);
    bool has_output = false;
    for (std::uint32_t step = 0; step < steps; ++step) {
        const Rank far = Rank{1} << step;
        if (rank + far < size) {
            writer.await_credit(rank + far, steps + step);
            writer->put(rank + far, step, last);
        }
        if (rank < far) continue;
        writer->wait(rank - far, step);
        const plan::Block came = writer.slot(step, 0);
        const bool goes_on = 2 * far < size && rank + 2 * far < size;
        writer->flush();
        if (goes_on) {
            writer->reduce(writer.scratch(0, 0), {came, last});
            last = writer.scratch(0, 0);
        }
        if (has_output) {
            writer->reduce(writer.output(0), {came, writer.output(0)});
        } else {
            writer->copy(writer.output(0), came);
        }
        has_output = true;
        writer.give_credit(rank - far, steps + step);
    }
    for (std::uint32_t step = 0; step < steps; ++step) writer->reserve_capacity(step, 1);
    writer.reserve_credits(steps, steps);
}

base::Result<plan::Program> generate_recursive_doubling(const AlgorithmSpec& spec,
                                                        const GenerateRequest& request) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
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

Algorithm exscan_recursive_doubling() {
    return {
        .collective = "exscan",
        .name = "recursive-doubling",
        .summary = "ranks add what the one 2^k before has, k = 0, 1, ..",
        .source = "Hillis and Steele, Data parallel algorithms",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true},
        .generate = &generate_recursive_doubling,
    };
}

}  // namespace weft::collectives
