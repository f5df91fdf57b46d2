// SPDX-License-Identifier: BSD-3-Clause
// double_tree.cpp - reduce up two binary trees at once, as a pipeline.
//
// Idea     The reverse of broadcast/double_tree.cpp: half of the vector goes up each of two trees,
//          in which every rank is an inner node at most once. There are two lanes: a rank combines
//          in one tree, and sends its own value in the other.
// Source   Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast, reduction
//          and scan.
// Rounds   ceil(log2 n) for one piece; the others follow at intervals of two puts. Messages: 2 * s
//          * (n - 1) for s pieces of each half, one credit for each but the last two of an edge.
// Bytes    Every rank but the root sends one vector; no rank reduces more than one.
// Memory   Two slots in each tree, two copies each; a scratch vector on ranks with children.
// Good for Long vectors on many ranks: the time of half a vector up a binary tree, and the links of
//          all ranks are used. The default is pieces of about 8 KiB.
// Holds    Not synchronizing. Numbers are counted from the root, and the second tree may have
//          number 1 after all others, so operations must commute.
#include "collectives/patterns/double_tree.hpp"

#include "collectives/entries.hpp"
#include "collectives/up_tree.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint32_t kChildren = 2;  ///< of each tree
constexpr std::uint32_t kCredits = 2 * kChildren;

void write_tree(BlockWriter& writer, const patterns::InnerPlace& place, std::uint32_t tree) {
    UpTree up(writer, place, tree, {.first_child = tree * kChildren, .credit = kCredits + tree});
    if (place.parent < 0) return up.combine(writer.output(tree));
    const bool leaf = place.children[0] < 0;
    const plan::Block partial = leaf ? writer.input(tree) : writer.scratch(0, tree);
    if (!leaf) up.combine(partial);
    up.send(partial);
}

void write(BlockWriter& writer, const GenerateRequest& request) {
    const patterns::DoubleTree trees(request.size);
    const patterns::RelativeRank own{request.rank, request.size, request.root};
    write_tree(writer, trees.place(0, own), 0);
    writer.begin_lane();
    write_tree(writer, trees.place(1, own), 1);
    if (request.size == 1) return;
    for (std::uint32_t number = 0; number < 2 * kChildren; ++number)
        writer->reserve_capacity(number, 1);
    writer.reserve_credits(kCredits, 2);
}

base::Result<plan::Program> generate_double_tree(const AlgorithmSpec& spec,
                                                 const GenerateRequest& request) {
    return program_by_blocks({.collective = "reduce", .blocks = 2, .cut = Cut::blocks}, spec,
                             in_pieces(spec, request), write);
}

}  // namespace

Algorithm reduce_double_tree() {
    return {
        .collective = "reduce",
        .name = "double-tree",
        .summary = "half of the vector up each of two binary trees, piece by piece",
        .source = "Sanders, Speck and Traeff, section 4",
        .parameters = {{"segments", "by size", "pieces of each half that follow each other",
                        "2,5"}},
        .properties = {.bit_identical = true, .two_trees = true},
        .generate = &generate_double_tree,
    };
}

}  // namespace weft::collectives
