// SPDX-License-Identifier: BSD-3-Clause
// halving_doubling.cpp - allreduce and reduce by recursive halving (reduce-scatter), then doubling
// (allgather) or a gather at the root.
//
// Idea     In step k ranks w and w xor 2^k halve their common range of blocks. Each sends the half
//          that the other keeps, and reduces the half that it keeps itself. Step 0 has the nearest
//          ranks and the longest messages. Then the steps in reverse order gather the blocks on all
//          ranks, or at the root. In each step to the root, half of the ranks with results put them
//          to the other half, whose numbers agree with the root's in one more bit.
//          If n is no power of two, the first 2r ranks form r pairs, where r = n - p and p is the
//          power of two below n. Each rank of a pair reduces half of the buffer. Then one rank
//          sends its half to the other, which represents the pair. In an allreduce the rank that
//          sent its half receives the result at the end.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.5.
// Rounds   2 log2 p; if n is no power of two, 3 more for an allreduce and up to 2 more for a
//          reduce. Messages of a reduce: p log2 p to halve, p - 1 to gather, 3 in each of n - p
//          pairs.
// Bytes    For a buffer of m bytes: a rank reduces m (1 - 1/p), in a pair m/2 more. allreduce: it
//          sends 2m (1 - 1/p), and for a pair m/2 + m more. reduce: it sends m (1 - 1/p), and
//          m / 2^(k+1) if it is done in step k of the gather. In a pair it sends m/2 more, but only
//          m in all if the other rank represents the pair.
// Memory   Slots for 2 (p - 1) blocks of m/p; with pairs, also for two halves and, in an allreduce,
//          a buffer. A reduce has a scratch buffer on all ranks but the root.
// Good for Long buffers if n is a power of two: least bytes in the fewest rounds. In a reduce no
//          rank receives or sends more than 2m, for any n.
// Holds    Blocks are reduced in rank order and once each, so results are bit-identical; the root
//          represents its pair. A reduce is synchronizing if n is a power of two; otherwise ranks
//          that do not represent their pair complete early.
#include <bit>

#include "collectives/entries.hpp"
#include "collectives/generate/range_exchange.hpp"

namespace weft::collectives {

namespace {

// Put numbers: halves of pairs, the half that joins them, the result (allreduce only). The numbers
// of the steps follow.
constexpr std::uint32_t kFold = 0;
constexpr std::uint32_t kHandOver = 1;
constexpr std::uint32_t kResult = 2;

std::uint32_t steps_of(const Folding& folding) {
    return as_u32(std::countr_zero(folding.numbers));
}

void reserve(BlockWriter& writer, const Folding& folding, std::uint32_t first_step) {
    const std::uint32_t steps = steps_of(folding);
    const bool folds = folding.pairs > 0;
    writer->reserve_capacity(kFold, folds ? folding.numbers / 2 : 0);
    writer->reserve_capacity(kHandOver, folds ? folding.numbers / 2 : 0);
    if (first_step > kResult) writer->reserve_capacity(kResult, folds ? folding.numbers : 0);
    RangeExchange::reserve(writer, first_step, steps, folding.numbers);
    RangeExchange::reserve(writer, first_step + steps, steps, folding.numbers);
}

void write_allreduce(BlockWriter& writer, const GenerateRequest& request) {
    constexpr std::uint32_t kFirstStep = kResult + 1;
    const Rank rank = request.rank;
    const Folding folding(request.size, std::bit_floor(as_u32(request.size)));
    const std::uint32_t steps = steps_of(folding);
    const BlockRange all{0, folding.numbers};
    if (request.size == 1) return writer->copy(writer.output(0), writer.input(0));
    const bool in_pair = folding.in_pair(rank);
    const bool represents = !in_pair || rank % 2 == 0;
    PartialResult partial(writer, PartialResult::Kept::output);
    if (in_pair) fold_pair(writer, partial, rank, folding.numbers, {kFold, kHandOver}, represents);
    if (represents) {
        RangeExchange exchange(writer, partial, {folding.number_of(rank), steps, folding.numbers},
                               [&](std::uint32_t number) { return folding.first_of(number); });
        exchange.halve(kFirstStep);
        writer->flush();  // results replace the halves that were sent
        exchange.double_up(kFirstStep + steps);
        if (in_pair) writer->put(rank + 1, kResult, partial.kept(all));
    } else {
        partial.take(all, rank - 1, kResult, Flush::yes);
    }
    reserve(writer, folding, kFirstStep);
}

void write_reduce(BlockWriter& writer, const GenerateRequest& request) {
    constexpr std::uint32_t kFirstStep = kHandOver + 1;
    const Rank rank = request.rank;
    const Folding folding(request.size, std::bit_floor(as_u32(request.size)));
    const std::uint32_t steps = steps_of(folding);
    if (request.size == 1) return writer->copy(writer.output(0), writer.input(0));
    const std::uint32_t top = folding.number_of(request.root);
    const std::uint32_t number = folding.number_of(rank);
    const auto rank_of = [&](std::uint32_t other) {
        return other == top ? request.root : folding.first_of(other);
    };
    const bool represents = rank_of(number) == rank;
    PartialResult partial(
        writer, rank == request.root ? PartialResult::Kept::output : PartialResult::Kept::scratch);
    if (folding.in_pair(rank))
        fold_pair(writer, partial, rank, folding.numbers, {kFold, kHandOver}, represents);
    if (represents) {
        RangeExchange exchange(writer, partial, {number, steps, folding.numbers}, rank_of);
        exchange.halve(kFirstStep);
        exchange.gather(top, kFirstStep + steps);
    }
    reserve(writer, folding, kFirstStep);
}

}  // namespace

Algorithm allreduce_halving_doubling() {
    return range_exchange_entry(
        "allreduce", "halving-doubling",
        "halves of the buffer are exchanged and reduced, then gathered the same way back",
        "Rabenseifner, Optimization of collective reduction operations, section 3.5",
        write_allreduce);
}
Algorithm reduce_halving_doubling() {
    return range_exchange_entry(
        "reduce", "halving-doubling",
        "halves of the buffer are exchanged and reduced, then gathered at the root",
        "Rabenseifner, Optimization of collective reduction operations, section 3.5", write_reduce);
}

}  // namespace weft::collectives
