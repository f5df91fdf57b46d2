// SPDX-License-Identifier: BSD-3-Clause
// kary.cpp - broadcast along a tree in which every rank has k children.
//
// Idea     The root serves k children, each the root of a k-th of the other ranks, and so on. Ranks
//          are counted from the root; subtrees are ranges of equal size but for one rank.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.2 (KT).
// Rounds   ceil(log_k((k-1)n + 1)) - 1: the levels of a full tree. Messages: n - 1.
// Bytes    A rank sends at most k vectors, a leaf none.
// Memory   One slot; with segments two copies of it and a credit for each child. k descriptors.
// Good for Large n where descriptors or the sender's time count; k = n - 1 is the flat tree.
// Holds    Not synchronizing: the root never waits (but for credits).
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/broadcast/tree.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_kary(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    const base::Result<Rank> k = radix_parameter(spec, 2, 1);
    if (!k) return k.failure();
    return broadcast_along(patterns::kary_tree(request.size, *k), spec, request);
}

}  // namespace

Algorithm broadcast_kary() {
    return {
        .collective = "broadcast",
        .name = "kary",
        .summary = "every rank passes the vector to k others",
        .source = "Hoefler and Moor, section 3.1.2",
        .parameters = {{"k", "2", "children of a rank", "1,3,5"},
                       {"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_kary,
    };
}

}  // namespace weft::collectives
