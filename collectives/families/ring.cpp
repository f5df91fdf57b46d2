// SPDX-License-Identifier: BSD-3-Clause
// ring.cpp - reductions and allgather around a ring.
//
// Idea     The buffer has one block for each rank. Reduction: block b starts at rank b + 1 and
//          visits all ranks; each rank adds its part, and rank b gets the result. Distribution:
//          each rank first sends its own block, then in each step the block that it has just
//          received.
//            reduce_scatter  the reduction
//            allgather       the distribution
//            allreduce       the reduction, then the distribution of the results
//            reduce          the reduction, then every other rank puts its block to the root
//          pairwise-ring: in step i of the reduction, every rank puts to rank + i the block for it.
//          Then it combines all parts of its block.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.7
//          (pairwise-ring); ring: with messages to the next rank only. allreduce ring: also
//          Kolmakov and Zhang's generalized algorithm, if it combines one block at a time.
// Rounds   reduce_scatter, allgather: n - 1. Messages: n (n - 1). allreduce: 2 (n - 1).
//          reduce: n. Messages: (n + 1)(n - 1).
// Bytes    reduce_scatter, allgather: a rank sends n - 1 blocks. allreduce of m bytes: a rank sends
//          2m (1 - 1/n). reduce: the root sends m (1 - 1/n), other ranks m, with m/n of it to the
//          root. In all reductions, each rank reduces n - 1 blocks.
// Memory   Slots of one block: n - 1 for the reduction, n - 1 for the distribution (none with
//          into=vector), n for the results at the root. One scratch buffer for reduce_scatter, and
//          for reduce on all ranks but the root.
// Good for Long buffers, any n: least bytes, and only between neighbors (except the last messages
//          of a reduce). For short buffers the latencies of all rounds dominate.
// Holds    Synchronizing: every block has passed all ranks. Block b starts with rank b + 1, so
//          operations must commute; pairwise-ring combines in rank order.
#include "collectives/generate/ring.hpp"

#include "collectives/entries.hpp"

namespace weft::collectives {

namespace {

/// Reduces around the ring. kept(block) returns the buffer for the block's sum so far.
template <class Kept>
void reduce_around(BlockWriter& writer, const GenerateRequest& request, Kept kept) {
    const auto [rank, size] = std::pair{request.rank, request.size};
    const auto block = [&, rank = rank, size = size](Rank back) {
        return as_u32((rank + 2 * size - back) % size);
    };
    for (Rank step = 0; step < size - 1; ++step) {
        const auto number = as_u32(step);
        const std::uint32_t sent = block(step + 1);
        const std::uint32_t next = block(step + 2);
        writer->put((rank + 1) % size, number, step == 0 ? writer.input(sent) : kept(sent));
        writer->wait((rank + size - 1) % size, number);
        writer->reduce(kept(next), {writer.slot(number, next), writer.input(next)});
    }
}

/// Reduces this rank's block by puts over all distances, one after the other.
template <class Kept>
void reduce_by_pairs(BlockWriter& writer, const GenerateRequest& request, Kept kept) {
    const auto [rank, size] = std::pair{request.rank, request.size};
    const auto own = as_u32(rank);
    for (Rank distance = 1; distance < size; ++distance) {
        const Rank to = (rank + distance) % size;
        writer->put(to, as_u32(distance - 1), writer.input(as_u32(to)));
        writer->wait((rank + size - distance) % size, as_u32(distance - 1));
    }
    std::vector<plan::Block> operands;
    for (Rank from = 0; from < size; ++from)
        operands.push_back(from == rank
                               ? writer.input(own)
                               : writer.slot(as_u32((rank - from + size) % size - 1), own));
    writer.combine(kept(own), operands);
}

void write_allgather(BlockWriter& writer, const GenerateRequest& request, Delivery into) {
    const auto own = as_u32(request.rank);
    writer->copy(writer.output(own), writer.input(own));
    pass_around(writer, {request.rank, request.size, 0}, 0, into);
}

template <bool kPairs>
void write_allreduce(BlockWriter& writer, const GenerateRequest& request, Delivery into) {
    if (request.size == 1) return writer->copy(writer.output(0), writer.input(0));
    const auto blocks = as_u32(request.size);
    // Only the reduction needs slots, so a bank can hold longer buffers.
    if (into == Delivery::direct) writer->reserve_capacities(0, blocks - 1, 1);
    const auto output = [&](std::uint32_t block) { return writer.output(block); };
    kPairs ? reduce_by_pairs(writer, request, output) : reduce_around(writer, request, output);
    writer->flush();  // the next writes to the output replace sources of puts
    pass_around(writer, {request.rank, request.size, 0}, blocks - 1, into);
}

void write_reduce_scatter(BlockWriter& writer, const GenerateRequest& request) {
    const auto own = as_u32(request.rank);
    reduce_around(writer, request, [&](std::uint32_t kept) {
        return kept == own ? writer.output(own) : writer.scratch(0, kept);
    });
    if (request.size == 1) writer->copy(writer.output(own), writer.input(own));
}

template <bool kPairs>
void write_reduce(BlockWriter& writer, const GenerateRequest& request) {
    if (request.size == 1) return writer->copy(writer.output(0), writer.input(0));
    const auto own = as_u32(request.rank);
    const auto first_result = as_u32(request.size - 1);
    const bool is_root = request.rank == request.root;
    const auto kept = [&](std::uint32_t block) {
        return is_root ? writer.output(block) : writer.scratch(0, block);
    };
    kPairs ? reduce_by_pairs(writer, request, kept) : reduce_around(writer, request, kept);
    if (!is_root) writer->put(request.root, first_result + own, kept(own));
    if (is_root) writer->flush();  // the next writes to the output replace sources of puts
    for (Rank step = 1; step < request.size; ++step) {
        const Rank from = (request.root + step) % request.size;
        const auto block = as_u32(from);
        writer->reserve_capacity(as_u32(step - 1), 1);
        writer->reserve_capacity(first_result + block, 1);
        if (!is_root) continue;
        writer->wait(from, first_result + block);
        writer->copy(writer.output(block), writer.slot(first_result + block, block));
    }
    writer->reserve_slots(2 * first_result + 1);
}

}  // namespace

Algorithm allgather_ring() {
    return {.collective = "allgather",
            .name = "ring",
            .summary = "blocks are passed around a ring",
            .source =
                "Thakur, Rabenseifner and Gropp, Optimization of collective communication "
                "operations in MPICH, section 4.1",
            .parameters = {kTriedSegments, kIntoParameter},
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
            .generate = by_blocks({}, write_allgather)};
}
Algorithm allreduce_ring() {
    return {.collective = "allreduce",
            .name = "ring",
            .summary = "blocks are reduced around a ring, then passed around it",
            .source = "Rabenseifner, section 3.7; Kolmakov and Zhang, section 2",
            .parameters = {kTriedSegments, kIntoParameter},
            .properties = {.bit_identical = true, .synchronizing = true},
            .generate = by_blocks({.lane_depth = 1}, write_allreduce<false>)};
}
Algorithm allreduce_pairwise_ring() {
    return {.collective = "allreduce",
            .name = "pairwise-ring",
            .summary = "blocks are put to their ranks, then passed around a ring",
            .source = "Rabenseifner, section 3.7",
            .parameters = {kTriedSegments, kIntoParameter},
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
            .generate = by_blocks({.lane_depth = 1}, write_allreduce<true>)};
}
Algorithm reduce_ring() {
    return {.collective = "reduce",
            .name = "ring",
            .summary = "blocks are reduced around a ring, then put to the root",
            .source = "Rabenseifner, section 3.7",
            .parameters = {kTriedSegments},
            .properties = {.bit_identical = true, .synchronizing = true},
            .generate = by_blocks({}, write_reduce<false>)};
}
Algorithm reduce_pairwise_ring() {
    return {.collective = "reduce",
            .name = "pairwise-ring",
            .summary = "blocks are put to their ranks, and the results to the root",
            .source = "Rabenseifner, section 3.7",
            .parameters = {kTriedSegments},
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
            .generate = by_blocks({}, write_reduce<true>)};
}
Algorithm reduce_scatter_ring() {
    return {.collective = "reduce_scatter",
            .name = "ring",
            .summary = "blocks go around a ring, and each rank adds its part",
            .source = "Rabenseifner, section 3.7",
            .parameters = {kTriedSegments},
            .properties = {.bit_identical = true, .synchronizing = true},
            .generate = by_blocks({}, write_reduce_scatter)};
}

}  // namespace weft::collectives
