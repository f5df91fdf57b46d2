// SPDX-License-Identifier: BSD-3-Clause
// draw_calls.hpp - random teams and calls for stress tests.
#pragma once

#include <deque>
#include <vector>

#include "base/random.hpp"
#include "base/region.hpp"
#include "tests/support/call.hpp"

namespace weft::test {

/// Returns the node of each rank: one node for all, one node for each rank, or a random node.
[[nodiscard]] std::vector<int> draw_layout(base::Random& random, Rank ranks);
/// Returns two or more of the ranks, in any order.
[[nodiscard]] std::vector<Rank> draw_members(base::Random& random, Rank ranks);
/// Returns a region's shape with 4, 8 or 128 banks, and some small classes without banks.
[[nodiscard]] base::RegionShape draw_shape(base::Random& random);
/// Returns a call with an algorithm that supports `ranks` ranks, with zero elements up
/// to sizes that need bulk slots.
[[nodiscard]] CallPlan draw_call(base::Random& random, Rank ranks);
/// Returns `count` calls, each drawn from `palette`.
[[nodiscard]] std::vector<const TeamCall*> draw_script(base::Random& random,
                                                       const std::deque<TeamCall>& palette,
                                                       std::size_t count);
/// Returns a tick; one in three is less than 60 ticks before the tick counter wraps.
[[nodiscard]] base::Tick draw_first_tick(base::Random& random);
/// Returns a network profile with random delays, refusals and copies of pieces of puts.
[[nodiscard]] VirtualProfile draw_profile(base::Random& random);

}  // namespace weft::test
