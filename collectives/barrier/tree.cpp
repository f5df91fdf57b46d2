// SPDX-License-Identifier: BSD-3-Clause
// tree.cpp - barriers up and down a tree: `tree`, in which every rank has k children, and
// `central`, in which rank 0 has all others.
//
// Idea     A rank signals its parent when all its children have signaled it. When the root has all
//          signals, the release goes down the tree in the same way.
// Source   Mellor-Crummey and Scott, Algorithms for scalable synchronization, with puts instead of
//          flags. central: the central-counter barrier, with one flag for each arrival.
// Rounds   2 * (ceil(log_k((k-1)n + 1)) - 1); central: 2. Signals: 2*(n-1), at most k + 1 from one
//          rank; central: all at rank 0.
// Memory   k + 1 numbers (central: n), no data.
// Good for tree: many ranks if messages are expensive; dissemination sends log n times more.
//          central: few ranks of one node, where rank 0 writes one published line that all read.
// Holds    The number of a child's signal is its index among its siblings; central: its rank. The
//          release is kShared.
#include "collectives/entries.hpp"
#include "collectives/patterns/range_tree.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_central(const GenerateRequest& request) {
    plan::Builder builder(program_header(request));
    if (request.rank == 0) {
        for (Rank rank = 1; rank < request.size; ++rank) builder.wait(rank, as_u32(rank));
        for (Rank rank = 1; rank < request.size; ++rank) builder.signal(rank, 0, plan::kShared);
    } else {
        builder.signal(0, as_u32(request.rank));
        builder.wait(0, 0, plan::kShared);
    }
    builder.reserve_slots(request.size > 1 ? as_u32(request.size) : 0);
    return std::move(builder).finish();
}

base::Result<plan::Program> generate_tree(const GenerateRequest& request) {
    const Rank k = WEFT_TRY(radix_parameter(*request.spec, 4, 1));
    plan::Builder builder(program_header(request));
    const patterns::TreePlace place =
        patterns::place_in(patterns::kary_tree(request.size, k), {request.rank, request.size, 0});
    const std::uint32_t release = place.children_max;
    std::uint32_t number = 0;
    for (const Rank child : place.children) builder.wait(child, number++);
    if (place.parent != plan::kNoRank) {
        builder.signal(place.parent, place.child_index);
        builder.wait(place.parent, release, plan::kShared);
    }
    for (const Rank child : place.children) builder.signal(child, release, plan::kShared);
    builder.reserve_slots(request.size > 1 ? release + 1 : 0);
    return std::move(builder).finish();
}

}  // namespace

Algorithm barrier_central() {
    return {.collective = "barrier",
            .name = "central",
            .summary = "all ranks signal rank 0, then rank 0 signals all",
            .source = "the central barrier of shared-memory machines",
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
            .generate = &generate_central};
}
Algorithm barrier_tree() {
    return {.collective = "barrier",
            .name = "tree",
            .summary = "signals go up a tree with k children a rank, the release goes down",
            .source = "Mellor-Crummey and Scott, section 3.3",
            .parameters = {{"k", "4", "children of a rank", "1,2,3"}},
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
            .generate = &generate_tree};
}

}  // namespace weft::collectives
