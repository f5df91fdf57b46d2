// SPDX-License-Identifier: BSD-3-Clause
// recursive_doubling.cpp - allgather by recursive doubling.
//
// Idea     In step k ranks r and r xor 2^k exchange all blocks that they have.
// Source   Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in
//          MPICH, section 4.1.
// Rounds   log2 n. Messages: n log2 n.
// Bytes    A rank sends n - 1 blocks.
// Memory   Slots for n - 1 blocks; no scratch.
// Good for Short and medium blocks if n is a power of two. Other n are refused; use bruck.
// Holds    Synchronizing.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, const GenerateRequest& request) {
    const auto own = as_u32(request.rank);
    writer->copy(writer.output(own), writer.input(own));
    std::uint32_t number = 0;
    for (std::uint32_t have = 1; have < as_u32(request.size); have *= 2, ++number) {
        const std::uint32_t mine = own / have * have;
        const std::uint32_t theirs = mine ^ have;
        const auto other = static_cast<Rank>(own ^ have);
        writer->reserve_capacity(number, have);
        writer->put(other, number, writer.output(mine, have));
        writer->wait(other, number);
        writer->copy(writer.output(theirs, have), writer.slot(number, theirs, have));
    }
}

}  // namespace

Algorithm allgather_recursive_doubling() {
    return {
        .collective = "allgather",
        .name = "recursive-doubling",
        .summary = "pairs exchange all that they have, at doubling distances",
        .source =
            "Thakur, Rabenseifner and Gropp, Optimization of collective communication operations "
            "in MPICH, section 4.1",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = true,
                       .power_of_two = true},
        .generate = by_blocks({.collective = "allgather", .synchronizing = true}, write),
    };
}

}  // namespace weft::collectives
