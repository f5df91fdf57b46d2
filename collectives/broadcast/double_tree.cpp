// SPDX-License-Identifier: BSD-3-Clause
// double_tree.cpp - broadcast along two binary trees at once, as a pipeline.
//
// Idea     Half of the vector goes down each of two trees in which no rank has children twice, so
//          everybody's sending is used. Two lanes: a rank forwards in one tree while it waits in the other.
// Source   Sanders, Speck and Traeff, Two-tree algorithms; Hoefler and Moor, section 3.1.5 (DT).
// Rounds   ceil(log2 n) for one piece; the others follow two puts apart. Messages: 2 * s * (n - 1) for
//          s pieces of each half, one credit for each but the last two of a tree.
// Bytes    The root sends one vector, every other rank at most one.
// Memory   Two slots with two copies each, six numbers, whatever the number of pieces.
// Good for Long vectors on many ranks: time as that of half a vector along a binary tree, and no rank
//          sends more than it receives. Unless given, pieces have about 8 KiB.
// Holds    Not synchronizing.
#include "collectives/patterns/double_tree.hpp"

#include "collectives/broadcast/broadcast.hpp"
#include "collectives/broadcast/tree.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint32_t kChildren = 2;
constexpr std::uint32_t kNumbers = 1 + kChildren;  ///< of each tree

/// The place of a rank in one of the trees.
TreePlace place_of(const patterns::DoubleTree& trees, int tree, const GenerateRequest& request) {
    const patterns::InnerPlace inner =
        trees.place(tree, patterns::Seat{request.rank, request.size, request.root});
    TreePlace place{
        .parent = inner.parent, .child_index = inner.child_index, .children_max = kChildren};
    for (const Rank child : inner.children)
        if (child >= 0) place.children.push_back(child);
    return place;
}

base::Result<plan::Program> generate_double_tree(const AlgorithmSpec& spec,
                                                 const GenerateRequest& asked) {
    const GenerateRequest request = in_pieces(spec, asked);
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("broadcast", spec, request);
    if (request.elements == 0) {
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    const bool pipelined = *segments > 1;
    header.units = 2 * *segments;
    header.segments = *segments;
    header.depth = pipelined ? 2 : 1;
    plan::Builder builder(std::move(header));
    const patterns::DoubleTree trees(request.size);
    write_tree(builder, place_of(trees, 0, request), {}, pipelined);
    builder.begin_lane();
    write_tree(builder, place_of(trees, 1, request), {*segments, kNumbers}, pipelined);
    if (request.size > 1) {
        builder.reserve_capacity(0, 1);
        builder.reserve_capacity(kNumbers, 1);
        builder.reserve_slots(2 * kNumbers);
    }
    return std::move(builder).finish();
}

}  // namespace

Algorithm broadcast_double_tree() {
    return {
        .collective = "broadcast",
        .name = "double-tree",
        .summary = "half of the vector along each of two binary trees, piece by piece",
        .source = "Sanders, Speck and Traeff; Hoefler and Moor, section 3.1.5",
        .parameters = {{"segments", "by size", "pieces of each half that follow each other",
                        "2,5"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_double_tree,
    };
}

}  // namespace weft::collectives
