// SPDX-License-Identifier: BSD-3-Clause
// layout.hpp - number of ranks on each virtual node of a job.
//
// Holds    Ranks are distributed in blocks, starting with node 0. Every node has at least one rank.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace weft::tools {

/// Distributes `ranks` over `nodes` in blocks; the first nodes get the extra ranks.
[[nodiscard]] base::Result<std::vector<Rank>> spread_over_nodes(Rank ranks, Rank nodes);

/// Parses "3,1,4" (ranks of each node) or "18x128" (128 nodes of 18 ranks).
[[nodiscard]] base::Result<std::vector<Rank>> parse_layout(std::string_view text);

/// Returns "rank 3" or "ranks 0, 2-5, 7". The ranks ascend, and there is at least one.
[[nodiscard]] std::string rank_list(const std::vector<Rank>& ranks);

/// Returns the node of each rank.
[[nodiscard]] std::vector<Rank> node_of_ranks(const std::vector<Rank>& ranks_per_node);

}  // namespace weft::tools
