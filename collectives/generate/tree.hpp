// SPDX-License-Identifier: BSD-3-Clause
// tree.hpp - steps of one rank in a broadcast or a pipelined reduction along a tree.
//
// Idea     In a broadcast a rank waits for its parent's put, copies the data out of the slot, and
//          puts it to its children. In a reduction it combines its children's data and puts the
//          result to its parent. With segments these steps are a loop: ranks forward one segment
//          while the next one arrives.
// Holds    The data has one number on every rank, because a rank has one parent, and the parent's
//          puts are equal (kShared). In a loop each slot has two copies. A rank gives a credit
//          when it has emptied a slot. The parent waits for the credit of segment s - 2 before it
//          puts segment s. Each child has its own number for credits, from `first_credit` on, so
//          each number has one writer. Calls with into=vector are not pipelined: each child
//          exposes its buffer once, by a number of its own.
#pragma once

#include "collectives/generate/blocks.hpp"
#include "collectives/patterns/range_tree.hpp"

namespace weft::collectives {

struct TreeData {
    std::uint32_t block = 0;         ///< block of the buffer that the tree carries
    std::uint32_t number = 0;        ///< number of the puts of data
    std::uint32_t first_credit = 1;  ///< number of the first child's credits
};

/// Puts the output to the children. All credits are awaited before the first put, so that local
/// children read one published copy.
inline void send_down(BlockWriter& writer, const patterns::TreePlace& place, TreeData data) {
    std::uint32_t credit = data.first_credit;
    for (const Rank child : place.children) writer.await_credit(child, credit++);
    for (const Rank child : place.children)
        writer->put(child, data.number, writer.output(data.block), plan::kShared);
}

inline void write_tree(BlockWriter& writer, const patterns::TreePlace& place, TreeData data) {
    const plan::Block output = writer.output(data.block);
    if (place.parent == plan::kNoRank) {
        writer->copy(output, writer.input(data.block));
    } else {
        writer->wait(place.parent, data.number, plan::kShared);
        writer->copy(output, writer.slot(data.number, data.block));
        writer.give_credit(place.parent, data.first_credit + place.child_index);
    }
    send_down(writer, place, data);
}

/// A reduction up a tree. Child i puts its partial result by number `first_child` + i.
struct UpData {
    std::uint32_t block = 0;        ///< block of the buffer that the tree carries
    std::uint32_t first_child = 0;  ///< number of the first child's data
    std::uint32_t credit = 0;       ///< number of the credits that a parent gives to its children
};

/// Combines this rank's value and its children's partial results into the target.
inline void combine_up(BlockWriter& writer, const patterns::TreePlace& place,
                       const plan::Block& target, UpData data) {
    std::vector<plan::Block> operands;
    const auto receive = [&](std::uint32_t child) {
        writer->wait(place.children[child], data.first_child + child);
        operands.push_back(writer.slot(data.first_child + child, data.block));
    };
    if (place.before < place.children.size()) receive(place.before);
    operands.push_back(writer.input(data.block));
    for (std::uint32_t child = 0; child < place.children.size(); ++child)
        if (child != place.before) receive(child);
    writer.combine(target, operands);
    for (const Rank child : place.children) writer.give_credit(child, data.credit);
}
/// Puts a partial result to the parent.
inline void send_up(BlockWriter& writer, const patterns::TreePlace& place, const plan::Block& value,
                    UpData data) {
    writer.await_credit(place.parent, data.credit);
    writer->put(place.parent, data.first_child + place.child_index, value);
}
/// Combines the values of a subtree: at the root in the output, at leaves in the input, elsewhere
/// in scratch. Puts the result to the parent.
inline void reduce_up(BlockWriter& writer, const patterns::TreePlace& place, UpData data) {
    const bool leaf = place.children.empty();
    if (place.parent == plan::kNoRank)
        return combine_up(writer, place, writer.output(data.block), data);
    const plan::Block partial = leaf ? writer.input(data.block) : writer.scratch(0, data.block);
    if (!leaf) combine_up(writer, place, partial, data);
    send_up(writer, place, partial, data);
}

/// Like write_tree(), for a single block that is delivered directly into buffers.
inline void write_tree_directly(BlockWriter& writer, const patterns::TreePlace& place) {
    constexpr std::uint32_t kData = 0;
    constexpr std::uint32_t kFirstExposed = 1;
    const plan::Block output = writer.output(0);
    if (place.parent == plan::kNoRank) {
        writer->copy(output, writer.input(0));
    } else {
        writer->expose(place.parent, kFirstExposed + place.child_index, output, plan::kWritten);
        writer->wait(place.parent, kData);
    }
    std::uint32_t exposed = kFirstExposed;
    for (const Rank child : place.children) {
        writer->wait(child, exposed);
        put_into_place(writer, child, kData, exposed++, output);
    }
    if (place.children_max > 0) writer->reserve_slots(kFirstExposed + place.children_max);
}

}  // namespace weft::collectives
