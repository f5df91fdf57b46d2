// SPDX-License-Identifier: BSD-3-Clause
// enumerate.hpp - all schedules of one size: what measurements and models choose from.
//
// Idea     factored  ordered factorisations of n: a-stages only.
//          split     one c/e level: every base B >= 2 and number of groups j >= 1 with j*B <= n
//                    that leaves n' = n - j*(B-1) >= 2 ranks, times the factorisations of n'.
//          merged    every number of remainders R >= 1 times the factorisations of n - R into two
//                    factors or more.
//          Levels do not nest here.
// Holds    Each schedule once, always in the same order; nothing is stored: a visitor can stream.
#pragma once

#include <cstdint>
#include <functional>

#include "collectives/notation/schedule.hpp"

namespace weft::collectives {

enum class ScheduleFamily : std::uint8_t { factored, split, merged };

/// Calls `visit` for every schedule of the family until it returns false.
void for_each_schedule(Rank size, ScheduleFamily family,
                       const std::function<bool(const Schedule&)>& visit);

/// How many there are. Time: the divisors of `size` for factored, about size * log(size) else.
[[nodiscard]] std::uint64_t count_schedules(Rank size, ScheduleFamily family);
/// Of all numbers of ranks up to `most`, by number: how many factored schedules there are (of each
/// set of factors one, if unordered). A sieve: about most * log(most), 8 bytes for each.
[[nodiscard]] std::vector<std::uint64_t> count_factored_up_to(Rank most, bool unordered);

}  // namespace weft::collectives
