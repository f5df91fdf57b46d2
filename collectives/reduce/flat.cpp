// SPDX-License-Identifier: BSD-3-Clause
// flat.cpp - reduce with puts from all ranks to the root.
//
// Idea     Every rank puts its vector to the root, which combines all of them in rank order.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.1 (flat tree).
// Rounds   1. Messages: n - 1, all to the root.
// Bytes    Every rank but the root sends one vector; the root reduces n - 1.
// Memory   n slots, all of them at the root; with segments two copies each, and a credit.
// Good for Few ranks, or ranks of one node; operations that do not commute, with any root.
// Holds    Not synchronizing. Combines in rank order. The root's program grows with the team; the
//          other programs have constant length. The number of a put is its sender's rank.
#include "collectives/blocks.hpp"
#include "collectives/entries.hpp"

namespace weft::collectives {

namespace {

void combine(BlockWriter& writer, const GenerateRequest& request) {
    std::vector<plan::Block> operands;
    for (Rank rank = 0; rank < request.size; ++rank) {
        const auto number = static_cast<std::uint32_t>(rank);
        if (rank != request.root) writer->wait(rank, number);
        operands.push_back(rank == request.root ? writer.input(0) : writer.slot(number, 0));
    }
    if (request.size == 1) {
        writer->copy(writer.output(0), operands.front());
    } else {
        writer->reduce(writer.output(0), operands);
    }
}

void write(BlockWriter& writer, const GenerateRequest& request) {
    const auto credit = static_cast<std::uint32_t>(request.size);
    if (request.rank != request.root) {
        writer.await_credit(request.root, credit);
        writer->put(request.root, static_cast<std::uint32_t>(request.rank), writer.input(0));
    } else {
        combine(writer, request);
        for (Rank rank = 0; rank < request.size; ++rank)
            if (rank != request.root) writer.give_credit(rank, credit);
    }
    if (request.size == 1) return;
    reserve_slot_of_each(writer, request);
    writer.reserve_credits(credit, 1);
}

base::Result<plan::Program> generate_flat(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    return program_by_blocks({.collective = "reduce", .blocks = 1}, spec, request, write);
}

}  // namespace

Algorithm reduce_flat() {
    return {
        .collective = "reduce",
        .name = "flat",
        .summary = "every rank puts its vector to the root",
        .source = "Hoefler and Moor, section 3.1.1",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true},
        .generate = &generate_flat,
    };
}

}  // namespace weft::collectives
