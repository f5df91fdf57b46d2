// SPDX-License-Identifier: BSD-3-Clause
// draw_calls.hpp - random teams and calls for stress tests.
#pragma once

#include <deque>
#include <vector>

#include "base/random.hpp"
#include "base/region.hpp"
#include "tests/support/call.hpp"

namespace weft::test {

/// Returns the node of each rank: all ranks on one node, each on its own, or mixed.
[[nodiscard]] std::vector<int> draw_layout(base::Random& random, Rank ranks);
/// Returns two or more of the ranks, in any order.
[[nodiscard]] std::vector<Rank> draw_members(base::Random& random, Rank ranks);
[[nodiscard]] base::RegionShape draw_shape(base::Random& random);
/// Returns a call with an algorithm that supports `ranks` ranks, with zero elements up
/// to bulk sizes.
[[nodiscard]] CallPlan draw_call(base::Random& random, Rank ranks);
/// Returns `count` calls of a palette, in any order.
[[nodiscard]] std::vector<const TeamCall*> draw_script(base::Random& random,
                                                       const std::deque<TeamCall>& palette,
                                                       std::size_t count);
/// Returns a tick that is often close to the wrap.
[[nodiscard]] base::Tick draw_first_tick(base::Random& random);
/// Returns a network profile, which may delay, refuse and copy pieces of puts.
[[nodiscard]] VirtualProfile draw_profile(base::Random& random);

}  // namespace weft::test
