// SPDX-License-Identifier: BSD-3-Clause
// double_tree.cpp - broadcast, reduce and allreduce along two binary trees at once, as a pipeline.
//
// Idea     Half of the buffer goes along each of two trees. Every rank is an inner node of at most
//          one of them, so all ranks send. A rank has a lane for each tree and direction: it
//          forwards in one while it waits in another. In an allreduce the root sends each reduced
//          piece back down, so pieces go up while earlier ones come down.
// Source   Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast, reduction
//          and scan; Hoefler and Moor, section 3.1.5.
// Rounds   ceil(log2 n) for the first piece, twice that for an allreduce; each further piece takes
//          the time of two puts more. Messages: 2 s (n - 1) for s pieces of each half (4 s (n - 1)
//          for an allreduce), and a credit for each but the last two messages of an edge
//          (broadcast: of a tree).
// Bytes    broadcast: every rank sends at most one buffer. reduce: every rank but the root sends
//          one; no rank reduces more than one. allreduce: 2 (n - 1) buffers in all; no rank reduces
//          more than one.
// Memory   Slots of each tree: one to broadcast, two to reduce, three for an allreduce, with two
//          copies each. One scratch buffer for partial results (in a reduce only on ranks with
//          children).
// Good for Long buffers on many ranks: the time of half a buffer along a binary tree, and the links
//          of all ranks are used. Fewer steps than a ring. The default is pieces of about 8 KiB.
// Holds    Numbers are counted from the root, and the second tree may have number 1 after all
//          others, so reductions are for operations that commute.
#include "collectives/patterns/double_tree.hpp"

#include "collectives/entries.hpp"
#include "collectives/generate/tree.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint32_t kChildren = 2;  ///< largest number of a rank's children in a tree

/// Calls write(position, tree) for both trees; each tree has its own lane.
template <class Write>
void write_trees(BlockWriter& writer, patterns::RelativeRank own, Write write) {
    const patterns::DoubleTree trees(own.size);
    write(trees.place(0, own), 0U);
    writer.begin_lane();
    write(trees.place(1, own), 1U);
}

void write_broadcast(BlockWriter& writer, const GenerateRequest& request) {
    constexpr std::uint32_t kNumbers = 1 + kChildren;  // data, and a credit from each child
    write_trees(writer, {request.rank, request.size, request.root},
                [&](const patterns::TreePlace& place, std::uint32_t tree) {
                    const std::uint32_t data = tree * kNumbers;
                    write_tree(writer, place, {tree, data, data + 1});
                });
    if (request.size == 1) return;
    writer->reserve_capacity(0, 1);
    writer->reserve_capacity(kNumbers, 1);
    writer->reserve_slots(2 * kNumbers);
}

void write_reduce(BlockWriter& writer, const GenerateRequest& request) {
    constexpr std::uint32_t kCredits = 2 * kChildren;
    write_trees(writer, {request.rank, request.size, request.root},
                [&](const patterns::TreePlace& place, std::uint32_t tree) {
                    reduce_up(writer, place, {tree, tree * kChildren, kCredits + tree});
                });
    if (request.size == 1) return;
    writer->reserve_capacities(0, kCredits, 1);
    writer.reserve_credits(kCredits, 2);
}

void write_allreduce(BlockWriter& writer, const GenerateRequest& request) {
    // Numbers of a tree: two for values from children, one for results, one for the parent's
    // credit, and two for the credits of children.
    constexpr std::uint32_t kDown = kChildren;
    constexpr std::uint32_t kUpCredit = kDown + 1;
    constexpr std::uint32_t kDownCredits = kUpCredit + 1;
    constexpr std::uint32_t kNumbers = kDownCredits + kChildren;
    write_trees(writer, {request.rank, request.size, 0},
                [&](const patterns::TreePlace& place, std::uint32_t tree) {
                    const std::uint32_t first = tree * kNumbers;
                    const TreeData down{tree, first + kDown, first + kDownCredits};
                    const UpData up{tree, first, first + kUpCredit};
                    if (place.parent < 0) {
                        combine_up(writer, place, writer.output(tree), up);
                        return send_down(writer, place, down);
                    }
                    combine_up(writer, place, writer.scratch(0, tree), up);
                    send_up(writer, place, writer.scratch(0, tree), up);
                    writer.begin_lane();
                    write_tree(writer, place, down);
                });
    for (std::uint32_t number = 0; number < 2 * kNumbers && request.size > 1; ++number)
        writer->reserve_capacity(number, number % kNumbers <= kDown ? 1 : 0);
}

}  // namespace

Algorithm double_tree(std::string_view collective) {
    struct DoubleTreeEntry {
        std::string_view collective;
        std::string_view summary;
        std::string_view source;
        Properties properties;
        WriteSteps write;
    };
    static constexpr DoubleTreeEntry kEntries[] = {
        {"broadcast",
         "half of the buffer along each of two binary trees, piece by piece",
         "Sanders, Speck and Traeff; Hoefler and Moor, section 3.1.5",
         {.ordered = true, .bit_identical = true, .two_trees = true},
         write_broadcast},
        {"reduce",
         "half of the buffer up each of two binary trees, piece by piece",
         "Sanders, Speck and Traeff, section 4",
         {.bit_identical = true, .two_trees = true},
         write_reduce},
        {"allreduce",
         "half of the buffer up and down each of two binary trees, piece by piece",
         "Sanders, Speck and Traeff, section 4",
         {.bit_identical = true, .synchronizing = true, .two_trees = true},
         write_allreduce}};
    const DoubleTreeEntry& entry =
        *std::ranges::find(kEntries, collective, &DoubleTreeEntry::collective);
    return {
        .collective = collective,
        .name = "double-tree",
        .summary = entry.summary,
        .source = entry.source,
        .parameters = {{"segments", "by size", "pieces of each half that follow each other",
                        "2,5"}},
        .properties = entry.properties,
        .generate = by_blocks({.blocks = 2, .cut = Cut::blocks, .in_pieces = true}, entry.write)};
}

}  // namespace weft::collectives
