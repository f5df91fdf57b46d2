// SPDX-License-Identifier: BSD-3-Clause
// kary.cpp - reduce along a tree in which every rank has k children.
//
// Idea     The tree of broadcast/kary.cpp turned round: a rank combines its own value with those of k
//          subtrees, which are ranges of ranks, and puts the result to its parent.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.2 (KT).
// Rounds   ceil(log_k((k-1)n + 1)) - 1. Messages: n - 1.
// Bytes    Every rank but the root sends one vector and reduces at most k.
// Memory   k slots; with segments two copies each and a credit. A scratch vector where a rank has children.
// Good for Large n where descriptors or the receiver's time count.
// Holds    Not synchronizing. In rank order if the root is rank 0, or at the price of one message more
//          (tree.hpp).
#include "collectives/reduce/reduce.hpp"
#include "collectives/reduce/tree.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_kary(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    const base::Result<Rank> k = radix_parameter(spec, 2, 1);
    if (!k) return k.failure();
    return reduce_along(patterns::kary_tree(request.size, *k), spec, request);
}

}  // namespace

Algorithm reduce_kary() {
    return {
        .collective = "reduce",
        .name = "kary",
        .summary = "every rank combines the results of k others with its own",
        .source = "Hoefler and Moor, section 3.1.2",
        .parameters = {{"k", "2", "children of a rank", "1,3,5"},
                       {"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_kary,
    };
}

}  // namespace weft::collectives
