// SPDX-License-Identifier: BSD-3-Clause
// tree.cpp - barrier up and down a tree in which every rank has k children.
//
// Idea     A rank signals its parent when all its children have signaled it. When the root has all
//          signals, the release goes down the tree in the same way.
// Source   Mellor-Crummey and Scott, Algorithms for scalable synchronization, with puts
//          instead of flags.
// Rounds   2 * (ceil(log_k((k-1)n + 1)) - 1). Signals: 2*(n-1), at most k + 1 from one rank.
// Memory   k + 1 numbers, no data.
// Good for Many ranks if messages are expensive: dissemination sends log n times more.
// Holds    The number of a child's signal is its index among its siblings. The release is kShared.
#include "collectives/entries.hpp"
#include "collectives/patterns/range_tree.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_tree(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    const Rank k = WEFT_TRY(radix_parameter(spec, 4, 1));
    plan::Builder builder(program_header("barrier", spec, request));
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

Algorithm barrier_tree() {
    return {
        .collective = "barrier",
        .name = "tree",
        .summary = "signals go up a tree with k children a rank, the release goes down",
        .source = "Mellor-Crummey and Scott, section 3.3",
        .parameters = {{"k", "4", "children of a rank", "1,2,3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_tree,
    };
}

}  // namespace weft::collectives
