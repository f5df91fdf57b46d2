// SPDX-License-Identifier: BSD-3-Clause
// tree.hpp - the steps of one rank in a reduction along any tree of ranges.
//
// Idea     Wait for the children's partial results, combine them behind the own value in the order of their
//          ranges, put the result to the parent. Cut into segments, the same in a loop.
// Holds    Ranks are counted from the root, so results are in rank order if the root is rank 0. If the
//          operation does not commute, the tree stands at rank 0 whoever the root is, and rank 0 puts the
//          result to the root: one more message on the way.
//          Numbers: a child's is its place among its siblings; behind those the credit of the parent, the
//          forwarded result and its credit. In a loop each slot has two copies.
#pragma once

#include "collectives/algorithm.hpp"
#include "collectives/patterns/range_tree.hpp"

namespace weft::collectives {

[[nodiscard]] base::Result<plan::Program> reduce_along(const patterns::RangeTree& tree,
                                                       const AlgorithmSpec& spec,
                                                       const GenerateRequest& request);

}  // namespace weft::collectives
