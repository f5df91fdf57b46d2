// SPDX-License-Identifier: BSD-3-Clause
// binomial.cpp - reduce along the binomial tree.
//
// Idea     In each round half of the ranks that still take part put what they have to the other half.
// Source   Hoefler and Moor, section 3.1.3 (BT); Rabenseifner, Optimization of collective reduction
//          operations, section 3.3.
// Rounds   As many as any number below n has bits: ceil(log2 n) at most. Messages: n - 1.
// Bytes    Every rank but the root sends one vector; the root reduces ceil(log2 n).
// Memory   ceil(log2 n) slots; with segments two copies each and a credit. A scratch vector where a rank
//          has children.
// Good for Short vectors, any n and root.
// Holds    Not synchronizing. In rank order if the root is rank 0, or at the price of one message more
//          (tree.hpp).
#include "collectives/reduce/reduce.hpp"
#include "collectives/reduce/tree.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_binomial(const AlgorithmSpec& spec,
                                              const GenerateRequest& request) {
    return reduce_along(patterns::knomial_tree(request.size, 2), spec, request);
}

}  // namespace

Algorithm reduce_binomial() {
    return {
        .collective = "reduce",
        .name = "binomial",
        .summary = "the number of ranks that take part is halved each round",
        .source = "Hoefler and Moor, section 3.1.3",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_binomial,
    };
}

}  // namespace weft::collectives
