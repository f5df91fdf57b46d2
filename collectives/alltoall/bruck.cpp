// SPDX-License-Identifier: BSD-3-Clause
// bruck.cpp - alltoall by Bruck's algorithm in any radix.
//
// Idea     The block for the rank d ahead moves by the digits of d in base k. In the round of a
//          digit, all blocks with digit z move z k^digit ranks ahead together.
// Source   Bruck et al., Efficient algorithms for all-to-all communications in multiport
//          message-passing systems.
// Rounds   ceil(log_k n). Messages: one from each rank for each digit and value z with z
//          k^digit < n.
// Bytes    A rank sends each block once for each digit of its distance that is not 0.
// Memory   A slot for each message, of slightly more than n/k blocks; one scratch buffer.
// Good for Short blocks: fewer messages, more bytes. With k = n it is the direct algorithm.
// Holds    Synchronizing.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"
#include "collectives/generate/radices.hpp"

namespace weft::collectives {

namespace {

/// Returns the blocks of all distances d < size whose digit of place value `reach` is z.
/// `blocks_of(first, count)` returns the blocks of `count` consecutive distances.
std::vector<plan::Block> with_digit(std::int64_t size, std::int64_t reach, std::int64_t radix,
                                    std::int64_t z, const auto& blocks_of) {
    const auto blocks = [&](std::int64_t first, std::int64_t count) {
        return blocks_of(as_u32(first), as_u32(count));
    };
    if (reach == 1) return {strided(blocks(z, (size - z - 1) / radix + 1), as_u32(radix))};
    std::vector<plan::Block> list;
    for (std::int64_t d = z * reach; d < size; d += reach * radix)
        list.push_back(blocks(d, std::min(reach, size - d)));
    return list;
}

/// Scratch block d first holds the data for the rank d ahead; at the end, it holds the data from
/// the rank d before this one.
void write(BlockWriter& writer, Rank rank, Rank size, Rank radix) {
    const auto own = as_u32(rank);
    const auto ranks = as_u32(size);
    writer->copy(std::vector{writer.scratch(0, 0, ranks)},
                 writer.wrapped(writer.input(own, ranks)));
    std::uint32_t number = 0;
    for (std::int64_t reach = 1; reach < size; reach *= radix) {
        const std::uint32_t first = number;
        const auto scratch = [&](std::uint32_t d, std::uint32_t count) {
            return writer.scratch(0, d, count);
        };
        for (std::int64_t z = 1; z < radix && z * reach < size; ++z, ++number) {
            const auto list = with_digit(size, reach, radix, z, scratch);
            writer->reserve_capacity(number, as_u32(plan::units_of(list)));
            writer->put(static_cast<Rank>((rank + z * reach) % size), number, list);
        }
        writer->flush();
        number = first;
        for (std::int64_t z = 1; z < radix && z * reach < size; ++z, ++number) {
            writer->wait(static_cast<Rank>((rank + size - z * reach) % size), number);
            writer->copy(
                with_digit(size, reach, radix, z, scratch),
                with_digit(size, reach, radix, z, [&](std::uint32_t d, std::uint32_t count) {
                    return writer.slot(number, d, count);
                }));
        }
    }
    std::vector<plan::Block> from;
    std::vector<plan::Block> to;
    for (std::uint32_t d = 0; d < ranks; ++d) {
        from.push_back(writer.scratch(0, d));
        to.push_back(writer.output((own + ranks - d) % ranks));
    }
    writer->copy(to, from);
}

base::Result<plan::Program> generate_bruck(const AlgorithmSpec& spec,
                                           const GenerateRequest& request) {
    const Rank k = WEFT_TRY(radix_parameter(spec, 2, 2));
    return program_by_blocks({.collective = "alltoall", .synchronizing = true}, spec, request,
                             [&](BlockWriter& writer, const GenerateRequest&) {
                                 write(writer, request.rank, request.size, k);
                             });
}

}  // namespace

Algorithm alltoall_bruck() {
    return {
        .collective = "alltoall",
        .name = "bruck",
        .summary = "blocks travel together by the digits of their distance",
        .source = "Bruck et al., Efficient algorithms for all-to-all communications",
        .parameters = {{"k", "2", "values of a digit", "3,5"},
                       {"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_bruck,
        .variants = [](const auto& request) { return bruck_variants("alltoall", request); },
    };
}

}  // namespace weft::collectives
