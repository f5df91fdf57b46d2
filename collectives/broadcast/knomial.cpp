// SPDX-License-Identifier: BSD-3-Clause
// knomial.cpp - broadcast along the k-nomial tree.
//
// Idea     Every rank that has the vector passes it on to k - 1 that have not in each round, so their
//          number grows k times; the largest subtrees are served first. Ranks are counted from the
//          root: the parent of a rank is its number without the last digit that is not 0, in base k.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.3 (k-nomial).
// Rounds   As many as any number below n has digits that are not 0 in base k: ceil(log_k n) at most.
//          Messages: n - 1, at most (k-1) * ceil(log_k n) from one rank.
// Bytes    The root sends one vector for each of its children, leaves none.
// Memory   One slot; with segments two copies of it and a credit for each child.
// Good for Short vectors, where a put costs a fraction 1/k of its latency. k = 2 is the binomial tree.
// Holds    Not synchronizing: the root never waits (but for credits).
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/broadcast/tree.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_knomial(const AlgorithmSpec& spec,
                                             const GenerateRequest& request) {
    const base::Result<Rank> k = radix_parameter(spec, 4, 2);
    if (!k) return k.failure();
    return broadcast_along(patterns::knomial_tree(request.size, *k), spec, request);
}

}  // namespace

Algorithm broadcast_knomial() {
    return {
        .collective = "broadcast",
        .name = "knomial",
        .summary = "the number of ranks that have the vector grows k times each round",
        .source = "Hoefler and Moor, section 3.1.3",
        .parameters = {{"k", "4", "how many times as many ranks each round", "2,3,7"},
                       {"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_knomial,
    };
}

}  // namespace weft::collectives
