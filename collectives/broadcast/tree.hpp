// SPDX-License-Identifier: BSD-3-Clause
// tree.hpp - the steps of one rank in a broadcast along any tree.
//
// Idea     Wait for the parent's put, copy it out of the slot, put it to the children. Cut into
//          segments, the same in a loop: while children forward one segment the next one arrives.
// Holds    Number 0 is the data at every rank: one parent, and all its puts are alike (kShared).
//          In a loop each slot has two copies, and a rank returns a credit when it has emptied one;
//          the parent waits for the credit of segment s - 2 before it puts segment s. Credits have
//          the number 1 + (place among the parent's children), so each has one writer.
#pragma once

#include "collectives/algorithm.hpp"
#include "collectives/patterns/range_tree.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

using patterns::TreePlace;

[[nodiscard]] base::Result<plan::Program> broadcast_along(const TreePlace& place,
                                                          const AlgorithmSpec& spec,
                                                          const GenerateRequest& request);
/// What one tree of a program that has several lanes works on.
struct TreeCourse {
    std::uint32_t first_unit = 0;    ///< of as many as there are segments
    std::uint32_t first_number = 0;  ///< the data; behind it credits, one for each child
};
/// The steps of one rank along one tree, in a loop if `pipelined`.
void write_tree(plan::Builder& builder, const TreePlace& place, TreeCourse course, bool pipelined);

/// The same along a tree that is counted from the root.
[[nodiscard]] base::Result<plan::Program> broadcast_along(const patterns::RangeTree& tree,
                                                          const AlgorithmSpec& spec,
                                                          const GenerateRequest& request);

}  // namespace weft::collectives
