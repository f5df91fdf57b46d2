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

#include <vector>

#include "collectives/algorithm.hpp"

namespace weft::collectives {

/// One rank's neighbours in the tree; ranks, not positions.
struct TreePlace {
    Rank parent = plan::kNoRank;    ///< kNoRank at the root
    std::uint32_t child_index = 0;  ///< among the parent's children
    std::vector<Rank> children;
    std::uint32_t children_max = 0;  ///< of any rank; the same on all ranks
};

[[nodiscard]] base::Result<plan::Program> broadcast_along(const TreePlace& place,
                                                          const AlgorithmSpec& spec,
                                                          const GenerateRequest& request);

}  // namespace weft::collectives
