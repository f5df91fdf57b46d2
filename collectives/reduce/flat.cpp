// SPDX-License-Identifier: BSD-3-Clause
// flat.cpp - reduce straight from everybody to the root.
//
// Idea     Everybody puts its vector to the root, which combines all of them in rank order.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.1 (flat tree).
// Rounds   1. Messages: n - 1, all to the root.
// Bytes    Every rank but the root sends one vector; the root reduces n - 1.
// Memory   n slots, all of them at the root; with segments two copies each, and a credit.
// Good for Few ranks, or ranks that share a node; operations that do not commute, with any root.
// Holds    Not synchronizing. In rank order. The root's program is as long as the team, the others' are
//          constant. A rank's number is its rank.
#include "collectives/reduce/reduce.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint16_t kDepth = 2;

void write_segment(plan::Builder& builder, const GenerateRequest& request, bool pipelined) {
    const auto moving = [&](plan::Block block) {
        return plan::per_segment(block, pipelined ? 1 : 0);
    };
    const auto credit = static_cast<std::uint32_t>(request.size);
    if (request.rank != request.root) {
        if (pipelined) builder.wait(request.root, credit, 0, kDepth);
        builder.put(request.root, static_cast<std::uint32_t>(request.rank), moving(plan::input()));
        return;
    }
    std::vector<plan::Block> operands;
    for (Rank rank = 0; rank < request.size; ++rank) {
        const auto number = static_cast<std::uint32_t>(rank);
        if (rank != request.root) builder.wait(rank, number);
        operands.push_back(moving(rank == request.root ? plan::input() : plan::slot(number)));
    }
    if (request.size == 1) {
        builder.copy(moving(plan::output()), operands.front());
    } else {
        builder.reduce(moving(plan::output()), operands);
    }
    for (Rank rank = 0; rank < request.size && pipelined; ++rank)
        if (rank != request.root) builder.signal(rank, credit, 0, kDepth);
}

base::Result<plan::Program> generate_flat(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("reduce", spec, request);
    if (request.elements == 0) {
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    const bool pipelined = *segments > 1;
    header.units = *segments;
    header.segments = *segments;
    header.depth = pipelined ? kDepth : 1;
    plan::Builder builder(std::move(header));
    if (pipelined) builder.begin_loop();
    write_segment(builder, request, pipelined);
    if (pipelined) builder.end_loop();
    if (request.size > 1) {
        for (Rank rank = 0; rank < request.size; ++rank)
            builder.reserve_capacity(static_cast<std::uint32_t>(rank),
                                     rank == request.root ? 0 : 1);
        if (pipelined) builder.reserve_slots(static_cast<std::uint32_t>(request.size) + 1);
    }
    return std::move(builder).finish();
}

}  // namespace

Algorithm reduce_flat() {
    return {
        .collective = "reduce",
        .name = "flat",
        .summary = "every rank puts its vector to the root",
        .source = "Hoefler and Moor, section 3.1.1",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_flat,
    };
}

}  // namespace weft::collectives
