// SPDX-License-Identifier: BSD-3-Clause
// halving_doubling.cpp - reduce by recursive halving (reduce-scatter), then a gather at the root.
//
// Idea     The first half is as in allreduce/halving_doubling.cpp: pairs fold if n is no power of
//          two, then ranges are halved until each of p ranks has a block of the result. In each
//          step of the gather, half of the ranks with results put them to the other half, whose
//          numbers agree with the root's in one more bit.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.5.
// Rounds   2 log2 p, and up to 2 more if n is no power of two; p is the power of two below n.
//          Messages: p log2 p to halve, p - 1 to gather, 3 in each of n - p pairs.
// Bytes    Of m: a rank sends m (1 - 1/p), and m / 2^(k+1) if it is done in step k of the gather.
//          In a pair it sends m/2 more, but only m in all if the other rank represents the pair. It
//          reduces m (1 - 1/p), or m/2 more.
// Memory   Slots for 2 (p - 1) blocks of m/p, and for two halves if pairs fold; a scratch vector on
//          all ranks but the root.
// Good for Long vectors if n is a power of two: no rank receives or sends more than 2m, for any n.
// Holds    Combines in rank order: the gather only moves results, and the root represents its
//          pair. Synchronizing if n is a power of two; otherwise ranks that do not represent their
//          pair complete early.
#include "collectives/entries.hpp"
#include "collectives/halving.hpp"

namespace weft::collectives {

namespace {

// Numbers; one for each halving and one for each step of the gather follow.
constexpr std::uint32_t kFold = 0;
constexpr std::uint32_t kHandOver = kFold + 1;
constexpr std::uint32_t kFirstStep = 2;

void write(BlockWriter& writer, const GenerateRequest& request, const Folding& folding) {
    const Rank rank = request.rank;
    const std::uint32_t steps = folding.steps();
    const std::uint32_t top = folding.number_of(request.root);
    const std::uint32_t number = folding.number_of(rank);
    const auto rank_of = [&](std::uint32_t other) {
        return other == top ? request.root : folding.first_of(other);
    };
    const bool speaks = rank_of(number) == rank;
    Partial partial(writer, rank == request.root ? Partial::Kept::output : Partial::Kept::scratch);
    if (folding.in_pair(rank))
        fold_pair(writer, partial, rank, {0, folding.numbers / 2}, speaks, kFold);
    if (speaks) {
        Halving halving(writer, partial, {number, steps, folding.numbers}, rank_of);
        halving.halve(kFirstStep);
        halving.gather(top, kFirstStep + steps);
    }
    if (request.size == 1) return writer->copy(writer.output(0), writer.input(0));
    writer->reserve_capacity(kFold, folding.pairs > 0 ? folding.numbers / 2 : 0);
    writer->reserve_capacity(kHandOver, folding.pairs > 0 ? folding.numbers / 2 : 0);
    Halving::reserve(writer, kFirstStep, steps, folding.numbers);
    Halving::reserve(writer, kFirstStep + steps, steps, folding.numbers);
}

base::Result<plan::Program> generate_halving_doubling(const AlgorithmSpec& spec,
                                                      const GenerateRequest& request) {
    const Folding folding(request.size);
    return program_by_blocks(
        {.collective = "reduce", .blocks = folding.numbers, .synchronizing = folding.pairs == 0},
        spec, request,
        [&](BlockWriter& writer, const GenerateRequest&) { write(writer, request, folding); });
}

}  // namespace

Algorithm reduce_halving_doubling() {
    return {
        .collective = "reduce",
        .name = "halving-doubling",
        .summary = "halves of the vector are exchanged and reduced, then gathered at the root",
        .source = "Rabenseifner, Optimization of collective reduction operations, section 3.5",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true},
        .generate = &generate_halving_doubling,
    };
}

}  // namespace weft::collectives
