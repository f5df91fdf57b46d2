// SPDX-License-Identifier: BSD-3-Clause
// pipelined_binary.cpp - broadcast along a binary tree, as a pipeline.
//
// Idea     The binary tree of kary.cpp, but the vector follows in pieces: while children forward one
//          piece the next one arrives.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.4 (PBT).
// Rounds   ceil(log2(n + 1)) - 1 for one piece; the others follow two puts apart.
//          Messages: s * (n - 1) for s pieces, one credit for each but the last two.
// Bytes    A rank sends at most two vectors.
// Memory   One slot with two copies, two credits, whatever the number of pieces.
// Good for Vectors of middle size and up on many ranks. Unless given, pieces have about 8 KiB.
// Holds    Not synchronizing.
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/broadcast/tree.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_pipelined_binary(const AlgorithmSpec& spec,
                                                      const GenerateRequest& request) {
    return broadcast_along(patterns::kary_tree(request.size, 2), spec, in_pieces(spec, request));
}

}  // namespace

Algorithm broadcast_pipelined_binary() {
    return {
        .collective = "broadcast",
        .name = "pipelined-binary",
        .summary = "along a binary tree, piece by piece",
        .source = "Hoefler and Moor, section 3.1.4",
        .parameters = {{"segments", "by size", kSegmentsHelp, "2,5"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_pipelined_binary,
    };
}

}  // namespace weft::collectives
