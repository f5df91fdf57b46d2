// SPDX-License-Identifier: BSD-3-Clause
// draw_calls.hpp - random teams and calls for stress tests.
#pragma once

#include <deque>
#include <vector>

#include "base/random.hpp"
#include "base/region.hpp"
#include "tests/support/call.hpp"

namespace weft::test {

/// Nodes by rank: one node, one for each rank, or mixed.
[[nodiscard]] std::vector<int> draw_layout(base::Random& random, Rank ranks);
/// Two or more of the ranks, in any order.
[[nodiscard]] std::vector<Rank> draw_members(base::Random& random, Rank ranks);
[[nodiscard]] base::RegionShape draw_shape(base::Random& random);
/// A collective, an algorithm that suits the number of ranks, and sizes from none to bulk.
[[nodiscard]] CallPlan draw_call(base::Random& random, Rank ranks);
/// So many calls of a palette, in any order.
[[nodiscard]] std::vector<const TeamCall*> draw_script(base::Random& random,
                                                       const std::deque<TeamCall>& palette,
                                                       std::size_t count);
/// Often shortly before ticks wrap.
[[nodiscard]] base::Tick draw_first_tick(base::Random& random);
/// How pieces fly on a network that delays, refuses and copies some.
[[nodiscard]] VirtualProfile draw_profile(base::Random& random);

}  // namespace weft::test
