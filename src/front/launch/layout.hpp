// SPDX-License-Identifier: BSD-3-Clause
// layout.hpp - how many ranks each virtual node of a job holds.
//
// Holds    Ranks are dealt in blocks: node 0 has the first ones. Every node has at least one rank.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace weft::front {

/// Block distribution of `ranks` over `nodes`; the first nodes get the extra ranks.
[[nodiscard]] base::Result<std::vector<Rank>> spread_over_nodes(Rank ranks, Rank nodes);

/// "3,1,4": ranks per node; "18x128": 128 nodes of 18.
[[nodiscard]] base::Result<std::vector<Rank>> parse_layout(std::string_view text);

/// "rank 3", "ranks 0, 2-5, 7"; the ranks ascend and there is one or more.
[[nodiscard]] std::string rank_list(const std::vector<Rank>& ranks);

/// Node of every rank.
[[nodiscard]] std::vector<Rank> node_of_ranks(const std::vector<Rank>& ranks_per_node);

}  // namespace weft::front
