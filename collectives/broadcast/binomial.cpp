// SPDX-License-Identifier: BSD-3-Clause
// binomial.cpp - broadcast along the binomial tree.
//
// Idea     Every rank that has the vector passes it on to one that has not, so their number doubles
//          each round; the largest subtree is served first. Ranks are counted from the root.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1 (BT, pipelined BT).
// Rounds   ceil(log2 n) posts deep; a rank is as many puts away from the root as it has bits.
//          Messages: n - 1, at most ceil(log2 n) from one rank.
// Bytes    The root sends ceil(log2 n) vectors, leaves none.
// Memory   One slot; with segments two copies of it and a credit for each child.
// Good for Short vectors, any n and root. Long ones want segments, or a tree of smaller degree.
// Holds    Not synchronizing: the root never waits (but for credits).
#include "collectives/patterns/binomial.hpp"

#include "collectives/broadcast/broadcast.hpp"
#include "collectives/broadcast/tree.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_binomial(const AlgorithmSpec& spec,
                                              const GenerateRequest& request) {
    const patterns::Binomial tree{request.size};
    const auto real = [&](Rank v) {
        return static_cast<Rank>((std::int64_t{v} + request.root) % request.size);
    };
    const Rank own = request.rank < request.root ? request.rank - request.root + request.size
                                                 : request.rank - request.root;
    TreePlace place{.children = tree.children(own), .children_max = tree.children_max()};
    for (Rank& child : place.children) child = real(child);
    if (own != 0) {
        place.parent = real(patterns::Binomial::parent(own));
        place.child_index = tree.child_index(own);
    }
    return broadcast_along(place, spec, request);
}

}  // namespace

Algorithm broadcast_binomial() {
    return {
        .collective = "broadcast",
        .name = "binomial",
        .summary = "the number of ranks that have the vector doubles each round",
        .source = "Hoefler and Moor, section 3.1",
        .parameters = {{"segments", "1", "pieces of the vector that follow each other"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_binomial,
    };
}

}  // namespace weft::collectives
