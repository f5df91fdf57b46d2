// SPDX-License-Identifier: BSD-3-Clause
// knomial.cpp - reduce along the k-nomial tree.
//
// Idea     In each round k - 1 of k ranks that still take part put what they have to the k-th.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.3 (k-nomial).
// Rounds   As many as any number below n has digits that are not 0 in base k. Messages: n - 1.
// Bytes    Every rank but the root sends one vector; the root reduces one for each of its children.
// Memory   A slot for each child of the root; with segments two copies each and a credit. A scratch vector
//          where a rank has children.
// Good for Short vectors, where a put costs a fraction 1/k of its latency.
// Holds    Not synchronizing. In rank order if the root is rank 0, or at the price of one message more
//          (tree.hpp).
#include "collectives/reduce/reduce.hpp"
#include "collectives/reduce/tree.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_knomial(const AlgorithmSpec& spec,
                                             const GenerateRequest& request) {
    const base::Result<Rank> k = radix_parameter(spec, 4, 2);
    if (!k) return k.failure();
    return reduce_along(patterns::knomial_tree(request.size, *k), spec, request);
}

}  // namespace

Algorithm reduce_knomial() {
    return {
        .collective = "reduce",
        .name = "knomial",
        .summary = "the number of ranks that take part is divided by k each round",
        .source = "Hoefler and Moor, section 3.1.3",
        .parameters = {{"k", "4", "of so many ranks one goes on", "2,3,7"},
                       {"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_knomial,
    };
}

}  // namespace weft::collectives
