// SPDX-License-Identifier: BSD-3-Clause
// binary_blocks.cpp - allreduce by halving and doubling in blocks of powers of two.
//
// Idea     The ranks form blocks whose sizes are powers of two, as in ../binary_blocks.hpp, which
//          reduces to the largest block. The result returns the same way: from each block to the
//          next smaller one. Then each block does recursive doubling.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.6.
// Rounds   2 floor(log2 n): smaller blocks send their results while larger ones still halve.
// Bytes    Of m, in a block of 2^a ranks: 2m (1 - 1/2^a), m/2^a to the next larger block, and m/2^a
//          to the next smaller one, if there are such blocks. Reduced: m (1 - 1/2^a), and m/2^a
//          from the smaller block.
// Memory   Slots for about 2m, and m / 2^(a+1) for each of the 2^(difference of exponents) parts
//          that return; no scratch.
// Good for Long vectors if n is no power of two and consecutive exponents of its sum are close.
// Holds    Blocks are reduced in rank order and once each, so results are bit-identical.
#include "collectives/binary_blocks.hpp"

#include "collectives/entries.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, Rank rank, Rank size) {
    Partial partial(writer, Partial::Kept::output);
    BinaryBlocks blocks(writer, partial, rank, size);
    const std::uint32_t first_doubling = blocks.up_number() + 1;
    const std::uint32_t first_back = first_doubling + blocks.steps();
    blocks.reduce_up();
    if (blocks.has_larger()) {
        blocks.for_each_above([&](Rank above, std::uint32_t part, BlockRange range) {
            partial.take(range, above, first_back + part, part == 0);
        });
    } else if (size > 1) {
        writer->flush();  // results replace the halves that were sent
    }
    if (blocks.has_smaller())
        writer->put(blocks.below(), first_back + blocks.part(), partial.kept(blocks.own()));
    blocks.halving().double_up(first_doubling);
    if (size == 1) writer->copy(writer.output(0), writer.input(0));
    blocks.reserve_up();
    Halving::reserve(writer, first_doubling, blocks.steps(), blocks.blocks());
    blocks.reserve_back(first_back);
}

base::Result<plan::Program> generate_binary_blocks(const AlgorithmSpec& spec,
                                                   const GenerateRequest& request) {
    const auto blocks = std::bit_floor(static_cast<std::uint32_t>(request.size));
    return program_by_blocks({.collective = "allreduce", .blocks = blocks, .synchronizing = true},
                             spec, request, [&](BlockWriter& writer, const GenerateRequest&) {
                                 write(writer, request.rank, request.size);
                             });
}

}  // namespace

Algorithm allreduce_binary_blocks() {
    return {
        .collective = "allreduce",
        .name = "binary-blocks",
        .summary =
            "halving and doubling in blocks of powers of two, which hand over to the next larger",
        .source = "Rabenseifner, Optimization of collective reduction operations, section 3.6",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_binary_blocks,
    };
}

}  // namespace weft::collectives
