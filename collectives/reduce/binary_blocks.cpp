// SPDX-License-Identifier: BSD-3-Clause
// binary_blocks.cpp - reduce by halving in blocks of powers of two, then a gather in the largest.
//
// Idea     The first half is as in allreduce/binary_blocks.cpp: blocks of ranks halve, and send
//          their result to the next larger block. The ranks of the largest block then gather the
//          result at the root. If the root is in another block, it takes the place of rank 0 in the
//          gather, and rank 0 puts its part to it.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.6.
// Rounds   2 floor(log2 n): smaller blocks send their results while larger ones still halve.
// Bytes    Of m, in a block of 2^a ranks: m (1 - 1/2^a), and m/2^a to the next larger block. In
//          the largest block a rank that is done in step k of the gather sends m / 2^(k+1). Rank 0
//          also sends its m/2^a to a root in another block. Reduced: m (1 - 1/2^a), and m/2^a from
//          the smaller block.
// Memory   Slots for about 2m; a scratch vector on all ranks but the root. With segments
//          two copies each, and a credit for each of the 2^(difference of exponents) parts
//          from smaller blocks.
// Good for Long vectors if n is no power of two and consecutive exponents of its sum are close.
// Holds    Combines in rank order: the gather only moves results. Synchronizing if n is a power of
//          two; otherwise ranks of smaller blocks complete early.
#include "collectives/binary_blocks.hpp"

#include "collectives/entries.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, const GenerateRequest& request) {
    const bool at_root = request.rank == request.root;
    Partial partial(writer, at_root ? Partial::Kept::output : Partial::Kept::scratch);
    BinaryBlocks blocks(writer, partial, request.rank, request.size);
    const std::uint32_t first_gather = blocks.up_number() + 1;
    const std::uint32_t result_of_zero = first_gather + blocks.steps();
    const std::uint32_t first_credit = result_of_zero + 1;
    blocks.reduce_up(first_credit);
    const auto top = static_cast<std::uint32_t>(request.root);
    if (top < blocks.blocks()) {
        if (!blocks.has_larger()) blocks.halving().gather(top, first_gather);
    } else if (at_root) {
        blocks.halving_of_largest(0, request.root).gather(0, first_gather);
        partial.take(halved(blocks.blocks(), 0, blocks.steps()), 0, result_of_zero);
    } else if (request.rank == 0) {
        writer->put(request.root, result_of_zero, partial.kept(blocks.own()));
    } else if (!blocks.has_larger()) {
        blocks.halving_of_largest(blocks.number(), request.root).gather(0, first_gather);
    }
    if (request.size == 1) return writer->copy(writer.output(0), writer.input(0));
    blocks.reserve_up();
    Halving::reserve(writer, first_gather, blocks.steps(), blocks.blocks());
    writer->reserve_capacity(result_of_zero, top < blocks.blocks() ? 0 : 1);
    writer.reserve_credits(first_credit, blocks.parts_max());
}

base::Result<plan::Program> generate_binary_blocks(const AlgorithmSpec& spec,
                                                   const GenerateRequest& request) {
    const auto blocks = std::bit_floor(static_cast<std::uint32_t>(request.size));
    return program_by_blocks({.collective = "reduce",
                              .blocks = blocks,
                              .synchronizing = blocks == static_cast<std::uint32_t>(request.size)},
                             spec, request, write);
}

}  // namespace

Algorithm reduce_binary_blocks() {
    return {
        .collective = "reduce",
        .name = "binary-blocks",
        .summary =
            "halving in blocks of powers of two, which hand over to the next larger; then a gather",
        .source = "Rabenseifner, Optimization of collective reduction operations, section 3.6",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true},
        .generate = &generate_binary_blocks,
    };
}

}  // namespace weft::collectives
