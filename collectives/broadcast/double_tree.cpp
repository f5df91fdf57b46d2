// SPDX-License-Identifier: BSD-3-Clause
// double_tree.cpp - broadcast along two binary trees at once, as a pipeline.
//
// Idea     Half of the vector goes down each of two trees. Every rank is an inner node of at most
//          one of them, so all ranks send. There are two lanes: a rank forwards in one tree while
//          it waits in the other.
// Source   Sanders, Speck and Traeff, Two-tree algorithms; Hoefler and Moor, section 3.1.5 (DT).
// Rounds   ceil(log2 n) for one piece; the others follow at intervals of two puts. Messages: 2 * s
//          * (n - 1) for s pieces of each half, one credit for each but the last two of a tree.
// Bytes    The root sends one vector, every other rank at most one.
// Memory   Two slots with two copies each, six numbers, for any number of pieces.
// Good for Long vectors on many ranks: the time of half a vector along a binary tree, and no rank
//          sends more than it receives. The default is pieces of about 8 KiB.
// Holds    Not synchronizing.
#include "collectives/patterns/double_tree.hpp"

#include "collectives/broadcast/tree.hpp"
#include "collectives/entries.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint32_t kChildren = 2;
constexpr std::uint32_t kNumbers = 1 + kChildren;  ///< of each tree

/// Returns the neighbors of a rank in one of the trees.
patterns::TreePlace place_of(const patterns::DoubleTree& trees, int tree,
                             const GenerateRequest& request) {
    const patterns::InnerPlace inner =
        trees.place(tree, {request.rank, request.size, request.root});
    patterns::TreePlace place{
        .parent = inner.parent, .child_index = inner.child_index, .children_max = kChildren};
    for (const Rank child : inner.children)
        if (child >= 0) place.children.push_back(child);
    return place;
}

void write(BlockWriter& writer, const GenerateRequest& request) {
    const patterns::DoubleTree trees(request.size);
    write_tree(writer, place_of(trees, 0, request), {});
    writer.begin_lane();
    write_tree(writer, place_of(trees, 1, request), {.block = 1, .number = kNumbers});
    if (request.size == 1) return;
    writer->reserve_capacity(0, 1);
    writer->reserve_capacity(kNumbers, 1);
    writer->reserve_slots(2 * kNumbers);
}

base::Result<plan::Program> generate_double_tree(const AlgorithmSpec& spec,
                                                 const GenerateRequest& request) {
    return program_by_blocks({.collective = "broadcast", .blocks = 2, .cut = Cut::blocks}, spec,
                             in_pieces(spec, request), write);
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
        .properties = {.ordered = true, .bit_identical = true, .two_trees = true},
        .generate = &generate_double_tree,
    };
}

}  // namespace weft::collectives
