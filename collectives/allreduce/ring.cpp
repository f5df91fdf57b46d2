// SPDX-License-Identifier: BSD-3-Clause
// ring.cpp - allreduce around a ring: reduce-scatter, then allgather.
//
// Idea     The vector has one block for each rank. In each step every rank sends one block to the
//          next rank and adds its own part to the received one. After n - 1 steps each rank has one
//          block of the result. n - 1 further steps pass the results around.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.7; the special
//          case of Kolmakov and Zhang's generalized algorithm that combines one block at a time.
// Rounds   2 (n - 1).
// Bytes    Of m: a rank sends 2m (1 - 1/n) and reduces m (1 - 1/n), in messages of m/n
//          to one neighbor.
// Memory   2 (n - 1) slots of one block, n - 1 with into=vector; no scratch.
// Good for Long vectors, any n: least bytes, and only between neighbors. Short vectors suffer from
//          the 2 (n - 1) latencies.
// Holds    Each block is reduced once, so results are bit-identical. Block b starts with rank b +
//          1, so operations must commute.
#include "collectives/ring.hpp"

#include "collectives/entries.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, const GenerateRequest& request, Landing into) {
    const auto [rank, size] = std::pair{request.rank, request.size};
    if (size == 1) return writer->copy(writer.output(0), writer.input(0));
    const auto blocks = static_cast<std::uint32_t>(size);
    // The other numbers have no slots, so a bank can hold longer vectors.
    for (std::uint32_t step = 0; into == Landing::vector && step + 1 < blocks; ++step)
        writer->reserve_capacity(step, 1);
    reduce_around(writer, rank, size, [&](std::uint32_t kept) { return writer.output(kept); });
    writer->flush();  // results replace the parts that were sent
    pass_around(writer, rank, size, blocks - 1, into);
}

base::Result<plan::Program> generate_ring(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    return program_that_lands({.collective = "allreduce", .synchronizing = true}, spec, request,
                              write);
}

constexpr Properties kProperties{.bit_identical = true, .synchronizing = true};

}  // namespace

Algorithm allreduce_ring() {
    return {
        .collective = "allreduce",
        .name = "ring",
        .summary = "blocks are reduced around a ring, then passed around it",
        .source = "Rabenseifner, section 3.7; Kolmakov and Zhang, section 2",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}, kIntoParameter},
        .properties = kProperties,
        .generate = &generate_ring,
        .refine = &with_landing<kProperties>,
    };
}

}  // namespace weft::collectives
