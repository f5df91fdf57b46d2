// SPDX-License-Identifier: BSD-3-Clause
// chain.cpp - reduce along a chain, as a pipeline.
//
// Idea     Each rank adds its own value to what the next one sends, and passes it on to the one before,
//          counted from the root, piece by piece.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.4 (linear pipeline).
// Rounds   n - 1 for one piece; s pieces overlap. Messages: s * (n - 1), one credit for each but two.
// Bytes    Every rank but the root sends one vector; every rank but the last reduces one.
// Memory   One slot with two copies, one credit, a scratch vector.
// Good for Long vectors: nobody sends or reduces more than one. Unless given, pieces have about 8 KiB.
// Holds    Not synchronizing. In rank order if the root is rank 0, or at the price of one message more
//          (tree.hpp).
#include "collectives/reduce/reduce.hpp"
#include "collectives/reduce/tree.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_chain(const AlgorithmSpec& spec,
                                           const GenerateRequest& request) {
    return reduce_along(patterns::chain_tree(request.size), spec, in_pieces(spec, request));
}

}  // namespace

Algorithm reduce_chain() {
    return {
        .collective = "reduce",
        .name = "chain",
        .summary = "each rank adds its value and passes the result on, piece by piece",
        .source = "Hoefler and Moor, section 3.1.4",
        .parameters = {{"segments", "by size", kSegmentsHelp, "2,5"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_chain,
    };
}

}  // namespace weft::collectives
