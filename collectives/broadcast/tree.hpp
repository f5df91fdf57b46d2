// SPDX-License-Identifier: BSD-3-Clause
// tree.hpp - the steps of one rank in a broadcast along any tree.
//
// Idea     Wait for the parent's put, copy it out of the slot, put it to the children. Cut into
//          segments, the same in a loop: while children forward one segment the next one arrives.
// Holds    One number is the data at every rank: one parent, and all its puts are the same
//          (kShared). In a loop each slot has two copies, and a rank returns a credit when it has
//          emptied one; the parent waits for the credit of segment s - 2 before it puts segment s.
//          Credits have the numbers after that, by the index among the parent's children, so each
//          has one writer. Where the data lands in vectors, children expose these by such numbers,
//          once: it is no pipeline then.
#pragma once

#include "collectives/landing.hpp"
#include "collectives/patterns/range_tree.hpp"

namespace weft::collectives {

/// What a tree's steps are about: a block of the vector, the number of its data; credits follow.
struct TreeData {
    std::uint32_t block = 0;
    std::uint32_t number = 0;
};

inline void write_tree(BlockWriter& writer, const patterns::TreePlace& place, TreeData data) {
    const std::uint32_t first_credit = data.number + 1;
    const plan::Block output = writer.output(data.block);
    if (place.parent == plan::kNoRank) {
        writer->copy(output, writer.input(data.block));
    } else {
        writer->wait(place.parent, data.number, plan::kShared);
        writer->copy(output, writer.slot(data.number, data.block));
        writer.give_credit(place.parent, first_credit + place.child_index);
    }
    // All credits before the first put: near children read one published copy, not one each.
    std::uint32_t credit = first_credit;
    for (const Rank child : place.children) writer.await_credit(child, credit++);
    for (const Rank child : place.children) writer->put(child, data.number, output, plan::kShared);
}

/// The same of one block, from vector to vector.
inline void write_tree_of_vectors(BlockWriter& writer, const patterns::TreePlace& place) {
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
