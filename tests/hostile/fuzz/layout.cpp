// SPDX-License-Identifier: BSD-3-Clause
// layout.cpp - fuzz target: the parser of `weft run --layout`.
#include "tools/launch/layout.hpp"

#include <numeric>

#include "base/check.hpp"
#include "tests/hostile/fuzz/targets.hpp"

void weft::fuzz::layout(std::string_view input) {
    const auto ranks_per_node = tools::parse_layout(input);
    if (!ranks_per_node) return;
    const std::int64_t ranks =
        std::accumulate(ranks_per_node->begin(), ranks_per_node->end(), std::int64_t{0});
    constexpr std::int64_t kRanksMax = 1 << 16;  // callers also limit the ranks here
    if (ranks > kRanksMax) return;
    const std::vector<Rank> node_of = tools::node_of_ranks(*ranks_per_node);
    WEFT_CHECK(static_cast<std::int64_t>(node_of.size()) == ranks, ranks);
    (void)tools::rank_list(node_of);
}
