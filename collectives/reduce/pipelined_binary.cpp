// SPDX-License-Identifier: BSD-3-Clause
// pipelined_binary.cpp - reduce along a binary tree, as a pipeline.
//
// Idea     The binary tree of kary.cpp, but vectors follow in pieces: while one goes up the next arrives.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.4 (PBT).
// Rounds   ceil(log2(n + 1)) - 1 for one piece; s pieces overlap. Messages: s * (n - 1), one credit for
//          each but two.
// Bytes    Every rank but the root sends one vector and reduces at most two.
// Memory   Two slots with two copies each, one credit, a scratch vector where a rank has children.
// Good for Vectors of middle size and up on many ranks. Unless given, pieces have about 8 KiB.
// Holds    Not synchronizing. In rank order if the root is rank 0, or at the price of one message more
//          (tree.hpp).
#include "collectives/reduce/reduce.hpp"
#include "collectives/reduce/tree.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_pipelined_binary(const AlgorithmSpec& spec,
                                                      const GenerateRequest& request) {
    return reduce_along(patterns::kary_tree(request.size, 2), spec, in_pieces(spec, request));
}

}  // namespace

Algorithm reduce_pipelined_binary() {
    return {
        .collective = "reduce",
        .name = "pipelined-binary",
        .summary = "along a binary tree, piece by piece",
        .source = "Hoefler and Moor, section 3.1.4",
        .parameters = {{"segments", "by size", kSegmentsHelp, "2,5"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_pipelined_binary,
    };
}

}  // namespace weft::collectives
