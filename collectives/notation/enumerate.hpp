// SPDX-License-Identifier: BSD-3-Clause
// enumerate.hpp - all schedules for a number of ranks, for measurements and models.
//
// Idea     factored  ordered factorisations of n: a-stages only.
//          split     one c/e level: every base B >= 2 and number of groups j >= 1 with j*B <= n
//                    that leaves n' = n - j*(B-1) >= 2 ranks, times the factorisations of n'.
//          merged    every number of remainders R >= 1 times the factorisations of n - R into two
//                    factors or more.
//          Levels do not nest here.
// Holds    Each schedule is visited once, always in the same order. No list is stored.
#pragma once

#include <cstdint>
#include <functional>

#include "collectives/notation/schedule.hpp"

namespace weft::collectives {

enum class ScheduleFamily : std::uint8_t { factored, split, merged };

/// Calls `visit` for every schedule of the family until it returns false.
void for_each_schedule(Rank size, ScheduleFamily family,
                       const std::function<bool(const Schedule&)>& visit);

/// Returns the number of schedules. Time: the divisors of `size` for factored, else about
/// size * log(size).
[[nodiscard]] std::uint64_t count_schedules(Rank size, ScheduleFamily family);
/// Returns, by size up to `most`, the number of factored schedules. `unordered`: schedules that
/// differ only in the order of factors count once. Time: about most * log(most).
[[nodiscard]] std::vector<std::uint64_t> count_factored_up_to(Rank most, bool unordered);

}  // namespace weft::collectives
