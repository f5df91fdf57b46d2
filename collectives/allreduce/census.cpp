// SPDX-License-Identifier: BSD-3-Clause
// census.cpp - allreduce of the whole buffer in the fewest rounds of a given radix, for any size.
//
// Idea     In a round each rank puts a partial sum to up to k - 1 other ranks, at distances that
//          are equal on all ranks. See generate/census.hpp for the two sums of a rank.
// Source   Bar-Noy, Kipnis and Schieber, Optimal computation of census functions in the postal
//          model, here in any radix.
// Rounds   ceil(log_k n). Messages: at most k - 1 a round and rank.
// Bytes    Each message carries the whole buffer.
// Memory   A slot for each message of a rank. A scratch buffer if n is not a power of k.
// Good for Short buffers of exact operations on any n: never more rounds than any schedule of
//          recursive multiplying, since no rank is left over.
// Holds    Synchronizing. Ranks add in different orders, so operations must commute, and
//          floating-point results may differ between ranks. With k >= n there is one round, in rank
//          order.
// Next     families/multi_object_small.cpp for nodes; generalized.cpp, which is this algorithm for
//          k = 2 with r = ceil(log2 n).
#include "collectives/generate/census.hpp"

#include "collectives/entries.hpp"

namespace weft::collectives {

namespace {

constexpr std::int64_t kDefaultRadix = 4;

void write(BlockWriter& writer, const GenerateRequest& request, Rank radix) {
    const auto [rank, size] = std::pair{request.rank, request.size};
    const std::vector<CensusRound> rounds = census_rounds(size, radix);
    CensusSums sums(writer, writer.input(0));
    std::uint32_t first = 0;
    for (const CensusRound& round : rounds) {
        std::uint32_t number = first;
        for (const Rank distance : round.distances)
            writer->put((rank + distance) % size, number++, sums.sent());
        std::vector<plan::Block> received;
        for (const Rank distance : round.distances) {
            writer->wait((rank + size - distance) % size, first);
            received.push_back(writer.slot(first++, 0));
        }
        writer->flush();
        if (rounds.size() == 1)
            sums.add_in_order(round, received, rank, size);
        else
            sums.add(round, received);
    }
    if (sums.result().buffer != plan::Buffer::output) writer->copy(writer.output(0), sums.result());
}

/// Returns the spec with the cheapest radix in the model of notation/optimum.hpp.
std::vector<std::string> variants(const CandidateRequest& request) {
    constexpr Rank kMost = 32;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    Rank best = 2;
    for (Rank k = 2; k <= std::min(request.size, kMost); ++k) {
        std::int64_t cost = 0;
        for (const CensusRound& round : census_rounds(request.size, k))
            cost += request.stage.latency + std::ssize(round.distances) * request.stage.message;
        if (cost < least) best = k;
        least = std::min(least, cost);
    }
    return {fmt::format("census:k={}", best)};
}

}  // namespace

Algorithm allreduce_census() {
    return {
        .collective = "allreduce",
        .name = "census",
        .summary = "partial sums go over k - 1 distances each round, the same ones on all ranks",
        .source = "Bar-Noy, Kipnis and Schieber, Optimal computation of census functions",
        .parameters = {{"k", "4", "factor by which the combined ranks grow each round", "2,3,7"},
                       kTriedSegments},
        .properties = {.synchronizing = true},
        .generate = by_blocks({.blocks = 1}, read_radix(kDefaultRadix, 2), write),
        .variants = &variants,
        .same_bits = [](const AlgorithmSpec& spec, const plan::Layout& layout) {
            const base::Result<Rank> k = radix_parameter(spec, kDefaultRadix, 2);
            return k.ok() && layout.size() <= *k;
        }};
}

}  // namespace weft::collectives
