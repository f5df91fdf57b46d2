// SPDX-License-Identifier: BSD-3-Clause
// halving_doubling.cpp - allreduce by recursive halving (reduce-scatter) and doubling (allgather).
//
// Idea     In step k ranks w and w xor 2^k halve their common range of blocks. Each sends the half
//          that the other keeps, and reduces the half that it keeps itself. The nearest ranks and
//          the longest messages are first. Then the blocks are gathered the same way back.
//          If n is no power of two, the first 2r ranks fold into r, where r = n - p and p is the
//          power of two below n. Each rank of a pair reduces half of the vector. The odd rank sends
//          its half to the other, and gets the result at the end.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.5.
// Rounds   2 log2 p, and 3 more if n is no power of two.
// Bytes    Of m: a rank sends 2m (1 - 1/p), and for a pair m/2 + m more. It reduces m (1 - 1/p),
//          or m/2 more.
// Memory   Slots for 2 (p - 1) blocks of m/p, and for two halves and a vector if pairs fold; no
//          scratch.
// Good for Long vectors if n is a power of two: least bytes in the fewest rounds.
// Holds    Blocks are reduced in rank order and once each, so results are bit-identical.
#include "collectives/entries.hpp"
#include "collectives/halving.hpp"

namespace weft::collectives {

namespace {

// Numbers; one for each halving and one for each doubling follow.
constexpr std::uint32_t kFold = 0;
constexpr std::uint32_t kHandOver = kFold + 1;
constexpr std::uint32_t kResult = 2;
constexpr std::uint32_t kFirstStep = 3;

void write(BlockWriter& writer, Rank rank, const Folding& folding) {
    const std::uint32_t steps = folding.steps();
    const BlockRange all{0, folding.numbers};
    const bool in_pair = folding.in_pair(rank);
    const bool speaks = !in_pair || rank % 2 == 0;
    Partial partial(writer, Partial::Kept::output);
    if (in_pair) fold_pair(writer, partial, rank, {0, folding.numbers / 2}, speaks, kFold);
    if (speaks) {
        Halving halving(writer, partial, {folding.number_of(rank), steps, folding.numbers},
                        [&](std::uint32_t number) { return folding.first_of(number); });
        halving.halve(kFirstStep);
        if (steps == 0) writer->copy(writer.output(0), writer.input(0));
        if (steps > 0) writer->flush();  // results replace the halves that were sent
        halving.double_up(kFirstStep + steps);
        if (in_pair) writer->put(rank + 1, kResult, partial.kept(all));
    } else {
        partial.take(all, rank - 1, kResult, true);
    }
    if (steps == 0) return;
    writer->reserve_capacity(kFold, folding.pairs > 0 ? folding.numbers / 2 : 0);
    writer->reserve_capacity(kHandOver, folding.pairs > 0 ? folding.numbers / 2 : 0);
    writer->reserve_capacity(kResult, folding.pairs > 0 ? folding.numbers : 0);
    Halving::reserve(writer, kFirstStep, steps, folding.numbers);
    Halving::reserve(writer, kFirstStep + steps, steps, folding.numbers);
}

base::Result<plan::Program> generate_halving_doubling(const AlgorithmSpec& spec,
                                                      const GenerateRequest& request) {
    const Folding folding(request.size);
    return program_by_blocks(
        {.collective = "allreduce", .blocks = folding.numbers, .synchronizing = true}, spec,
        request,
        [&](BlockWriter& writer, const GenerateRequest&) { write(writer, request.rank, folding); });
}

}  // namespace

Algorithm allreduce_halving_doubling() {
    return {
        .collective = "allreduce",
        .name = "halving-doubling",
        .summary =
            "halves of the vector are exchanged and reduced, then gathered the same way back",
        .source = "Rabenseifner, Optimization of collective reduction operations, section 3.5",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_halving_doubling,
    };
}

}  // namespace weft::collectives
