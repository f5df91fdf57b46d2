// SPDX-License-Identifier: BSD-3-Clause
// ring.cpp - reduce around a ring, then puts to the root.
//
// Idea     The vector has one block for each rank. After one cycle around the ring every rank has
//          one block of the result, which it puts to the root.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.7, around the
//          ring instead of in pairs.
// Rounds   n. Messages: (n + 1)(n - 1).
// Bytes    Of m: a rank sends m, m/n of it to the root; the root sends m (1 - 1/n). Each rank
//          reduces m (1 - 1/n).
// Memory   2n - 1 slots of one block; a scratch vector on all ranks but the root.
// Good for Long vectors on few ranks, any n: no rank reduces more than a vector, and all messages
//          but the last go to a neighbor.
// Holds    Synchronizing. Each block is reduced once. Block b starts with rank b + 1, so
//          operations must commute.
#include "collectives/ring.hpp"

#include "collectives/entries.hpp"

namespace weft::collectives {

namespace {

void write_ring(BlockWriter& writer, const GenerateRequest& request) {
    const auto own = static_cast<std::uint32_t>(request.rank);
    const auto first_result = static_cast<std::uint32_t>(request.size - 1);
    const bool top = request.rank == request.root;
    const auto kept = [&](std::uint32_t block) {
        return top ? writer.output(block) : writer.scratch(0, block);
    };
    reduce_around(writer, request.rank, request.size, kept);
    if (request.size == 1) return writer->copy(writer.output(0), writer.input(0));
    if (!top) writer->put(request.root, first_result + own, kept(own));
    if (top) writer->flush();  // results replace the parts that were sent
    for (Rank step = 1; step < request.size; ++step) {
        const Rank from = (request.root + step) % request.size;
        const auto block = static_cast<std::uint32_t>(from);
        writer->reserve_capacity(static_cast<std::uint32_t>(step - 1), 1);
        writer->reserve_capacity(first_result + block, 1);
        if (!top) continue;
        writer->wait(from, first_result + block);
        writer->copy(writer.output(block), writer.slot(first_result + block, block));
    }
    writer->reserve_slots(2 * first_result + 1);
}

base::Result<plan::Program> generate_ring(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    return program_by_blocks(
        {.collective = "reduce", .synchronizing = true}, spec, request,
        [&](BlockWriter& writer, const GenerateRequest&) { write_ring(writer, request); });
}

}  // namespace

Algorithm reduce_ring() {
    return {
        .collective = "reduce",
        .name = "ring",
        .summary = "blocks are reduced around a ring, then put to the root",
        .source = "Rabenseifner, section 3.7",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.bit_identical = true, .synchronizing = true},
        .generate = &generate_ring,
    };
}

}  // namespace weft::collectives
