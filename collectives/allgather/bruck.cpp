// SPDX-License-Identifier: BSD-3-Clause
// bruck.cpp - allgather by Bruck's algorithm in any radix.
//
// Idea     A rank that has h blocks, from its own on, receives the next (k - 1) h blocks from the k
//          - 1 ranks h, 2h, ... ahead. It then has k h blocks.
// Source   Bruck et al., Efficient algorithms for all-to-all communications in multiport
//          message-passing systems.
// Rounds   ceil(log_k n). Messages: at most k - 1 a round and rank.
// Bytes    A rank sends n - 1 blocks.
// Memory   Slots for n - 1 blocks; no scratch, because blocks are put to their final positions.
// Good for Short blocks, any n. A larger k means fewer rounds with more messages each.
// Holds    Synchronizing.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"
#include "collectives/generate/radices.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, Rank rank, Rank size, Rank radix) {
    const auto own = as_u32(rank);
    writer->copy(writer.output(own), writer.input(own));
    std::uint32_t number = 0;
    for (std::int64_t have = 1; have < size; have *= radix) {
        const std::uint32_t first = number;
        const auto count_of = [&](std::int64_t j) {
            return as_u32(std::min(have, size - j * have));
        };
        for (std::int64_t j = 1; j < radix && j * have < size; ++j, ++number) {
            writer->reserve_capacity(number, count_of(j));
            const auto to = static_cast<Rank>((rank + size - j * have) % size);
            writer->put(to, number, writer.wrapped(writer.output(own, count_of(j))));
        }
        number = first;
        for (std::int64_t j = 1; j < radix && j * have < size; ++j, ++number) {
            const auto from = static_cast<Rank>((rank + j * have) % size);
            const auto block = as_u32(from);
            writer->wait(from, number);
            writer->copy(writer.wrapped(writer.output(block, count_of(j))),
                         writer.wrapped(writer.slot(number, block, count_of(j))));
        }
    }
}

base::Result<plan::Program> generate_bruck(const AlgorithmSpec& spec,
                                           const GenerateRequest& request) {
    const Rank k = WEFT_TRY(radix_parameter(spec, 2, 2));
    return program_by_blocks({.collective = "allgather", .synchronizing = true}, spec, request,
                             [&](BlockWriter& writer, const GenerateRequest&) {
                                 write(writer, request.rank, request.size, k);
                             });
}

}  // namespace

Algorithm allgather_bruck() {
    return {
        .collective = "allgather",
        .name = "bruck",
        .summary = "the number of blocks that a rank has grows k times each round",
        .source = "Bruck et al., Efficient algorithms for all-to-all communications",
        .parameters = {{"k", "2", "factor by which the blocks grow each round", "3,5"},
                       {"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_bruck,
        .variants = [](const auto& request) { return bruck_variants("allgather", request); },
    };
}

}  // namespace weft::collectives
