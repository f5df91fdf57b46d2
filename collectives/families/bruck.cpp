// SPDX-License-Identifier: BSD-3-Clause
// bruck.cpp - allgather and alltoall by Bruck's algorithm in any radix, and allgather by recursive
// doubling.
//
// Idea     allgather: a rank that has h blocks, from its own on, receives the next (k - 1) h blocks
//          from the k - 1 ranks h, 2h, ... ahead. It then has k h blocks.
//          alltoall: the block for the rank d ahead moves by the digits of d in base k. In the
//          round of a digit, all blocks with digit z move z k^digit ranks ahead together.
//          recursive-doubling: in step k ranks r and r xor 2^k exchange all blocks that they have.
// Source   Bruck et al., Efficient algorithms for all-to-all communications in multiport
//          message-passing systems. recursive-doubling: Thakur, Rabenseifner and Gropp,
//          Optimization of collective communication operations in MPICH, section 4.1.
// Rounds   ceil(log_k n). Messages: at most k - 1 a round and rank; recursive-doubling: one.
// Bytes    allgather: a rank sends n - 1 blocks. alltoall: it sends each block once for each digit
//          of its distance that is not 0.
// Memory   allgather: slots for n - 1 blocks; no scratch, because blocks are put to their final
//          positions. alltoall: a slot for each message, of slightly more than n/k blocks; one
//          scratch buffer.
// Good for Short blocks, any n. A larger k means fewer rounds with more messages each. alltoall:
//          fewer messages and more bytes than the direct algorithm. recursive-doubling: also medium
//          blocks; only for powers of two.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"
#include "collectives/generate/radices.hpp"

namespace weft::collectives {

namespace {

void write_allgather(BlockWriter& writer, const GenerateRequest& request, Rank radix) {
    const auto [rank, size] = std::pair{request.rank, request.size};
    const auto own = as_u32(rank);
    writer->copy(writer.output(own), writer.input(own));
    std::uint32_t number = 0;
    for (std::int64_t have = 1; have < size; have *= radix) {
        const std::uint32_t first = number;
        const auto count_of = [have, size = size](std::int64_t j) {
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

void write_doubling(BlockWriter& writer, const GenerateRequest& request) {
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
void write_alltoall(BlockWriter& writer, const GenerateRequest& request, Rank radix) {
    const auto [rank, size] = std::pair{request.rank, request.size};
    const auto own = as_u32(rank);
    const auto ranks = as_u32(size);
    writer->copy(std::vector{writer.scratch(0, 0, ranks)},
                 writer.wrapped(writer.input(own, ranks)));
    const auto scratch = [&](std::uint32_t d, std::uint32_t count) {
        return writer.scratch(0, d, count);
    };
    std::uint32_t number = 0;
    for (std::int64_t reach = 1; reach < size; reach *= radix) {
        const std::uint32_t first = number;
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

/// Returns the spec of `bruck` with the fastest radix of at least two rounds, unless that is 2, the
/// default. An alltoall sends a block once for each digit of its distance that is not 0.
std::vector<std::string> variants(std::string_view collective, const CandidateRequest& request) {
    const auto time = [&](Rank radix) {
        const std::int64_t rounds = rounds_of_radix(request.size, radix);
        std::int64_t reach = 1;
        for (std::int64_t round = 1; round < rounds; ++round) reach *= radix;
        const std::int64_t last = (request.size - 1) / reach;
        const std::int64_t messages = (rounds - 1) * (radix - 1) + last;
        std::int64_t blocks = request.size;
        if (collective == "alltoall")
            blocks = (rounds - 1) * (request.size - request.size / radix) + request.size -
                     request.size / (last + 1);
        return rounds * (request.latency_ps + request.receive_ps) + messages * request.issue_ps +
               blocks * request.buffer_ps;
    };
    Rank best = 2;
    for (const Rank radix : smallest_radices(request.size))
        if (radix < request.size && time(radix) < time(best)) best = radix;
    if (best == 2) return {};
    return {fmt::format("bruck:k={}", best)};
}

Algorithm entry(std::string_view collective, std::string_view summary, Parameter radix,
                Generate generate) {
    return {.collective = collective,
            .name = "bruck",
            .summary = summary,
            .source = "Bruck et al., Efficient algorithms for all-to-all communications",
            .parameters = {radix, kTriedSegments},
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
            .generate = std::move(generate),
            .variants = [=](const auto& request) { return variants(collective, request); }};
}

}  // namespace

Algorithm allgather_bruck() {
    return entry("allgather", "the number of blocks that a rank has grows k times each round",
                 {"k", "2", "factor by which the blocks grow each round", "3,5"},
                 by_blocks({}, read_radix(2, 2), write_allgather));
}
Algorithm alltoall_bruck() {
    return entry("alltoall", "blocks travel together by the digits of their distance",
                 {"k", "2", "values of a digit", "3,5"},
                 by_blocks({}, read_radix(2, 2), write_alltoall));
}
Algorithm allgather_recursive_doubling() {
    return {.collective = "allgather",
            .name = "recursive-doubling",
            .summary = "pairs exchange all that they have, at doubling distances",
            .source =
                "Thakur, Rabenseifner and Gropp, Optimization of collective communication "
                "operations in MPICH, section 4.1",
            .parameters = {kTriedSegments},
            .properties = {.ordered = true,
                           .bit_identical = true,
                           .synchronizing = true,
                           .power_of_two = true},
            .generate = by_blocks({}, write_doubling)};
}

}  // namespace weft::collectives
