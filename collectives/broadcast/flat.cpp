// SPDX-License-Identifier: BSD-3-Clause
// flat.cpp - broadcast straight from the root to everybody.
//
// Idea     The root puts the vector to all others, beginning with the rank behind it.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1 (flat tree).
// Rounds   1. Messages: n - 1, all from the root.
// Bytes    The root sends n - 1 vectors.
// Memory   One slot; with segments two copies of it and n - 1 credits at the root.
// Good for Few ranks, or ranks that share a node: the root publishes once and all read in place.
// Holds    Not synchronizing. The root's program is as long as the team, the others' are constant.
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/broadcast/tree.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_flat(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    const std::int64_t size = request.size;
    TreePlace place;
    place.children_max = static_cast<std::uint32_t>(size - 1);
    if (request.rank == request.root) {
        for (std::int64_t k = 1; k < size; ++k)
            place.children.push_back(static_cast<Rank>((request.root + k) % size));
    } else {
        place.parent = request.root;
        place.child_index =
            static_cast<std::uint32_t>((request.rank - request.root - 1 + size) % size);
    }
    return broadcast_along(place, spec, request);
}

}  // namespace

Algorithm broadcast_flat() {
    return {
        .collective = "broadcast",
        .name = "flat",
        .summary = "the root puts the vector to every other rank",
        .source = "Hoefler and Moor, section 3.1",
        .parameters = {{"segments", "1", "pieces of the vector that follow each other"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_flat,
    };
}

}  // namespace weft::collectives
