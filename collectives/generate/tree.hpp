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

/// Combines this rank's value and its children's partial results into the target. Child i has put
/// number i; its parent gives it credits by number `children_max`.
inline void combine_up(BlockWriter& writer, const patterns::TreePlace& place,
                       const plan::Block& target) {
    std::vector<plan::Block> operands{writer.input(0)};
    for (const Rank child : place.children) {
        const auto number = as_u32(std::ssize(operands) - 1);
        writer->wait(child, number);
        operands.push_back(writer.slot(number, 0));
    }
    writer.combine(target, operands);
    for (const Rank child : place.children) writer.give_credit(child, place.children_max);
}
/// Puts a partial result to the parent.
inline void send_up(BlockWriter& writer, const patterns::TreePlace& place,
                    const plan::Block& value) {
    writer.await_credit(place.parent, place.children_max);
    writer->put(place.parent, place.child_index, value);
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
