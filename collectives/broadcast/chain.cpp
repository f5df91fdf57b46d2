// SPDX-License-Identifier: BSD-3-Clause
// chain.cpp - broadcast along a chain, as a pipeline.
//
// Idea     Each rank passes the vector to the next one, counted from the root, piece by piece: while
//          one piece goes on, the next one arrives.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.4 (linear pipeline).
// Rounds   n - 1 for one piece; for s pieces they overlap, and the last one starts s - 1 puts later.
//          Messages: s * (n - 1), one credit for each but the last two pieces.
// Bytes    Every rank but the last sends one vector.
// Memory   One slot with two copies, one credit, whatever the number of pieces.
// Good for Long vectors: nobody sends more than one vector. Unless given, pieces have about 8 KiB.
// Holds    Not synchronizing.
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/broadcast/tree.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_chain(const AlgorithmSpec& spec,
                                           const GenerateRequest& request) {
    return broadcast_along(patterns::chain_tree(request.size), spec, in_pieces(spec, request));
}

}  // namespace

Algorithm broadcast_chain() {
    return {
        .collective = "broadcast",
        .name = "chain",
        .summary = "each rank passes the vector on to the next, piece by piece",
        .source = "Hoefler and Moor, section 3.1.4",
        .parameters = {{"segments", "by size", kSegmentsHelp, "2,5"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_chain,
    };
}

}  // namespace weft::collectives
