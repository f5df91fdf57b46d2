// SPDX-License-Identifier: BSD-3-Clause
// nested_specs.hpp - schedules of recursive multiplying with nested levels, in the notation of
// collectives/notation/schedule.hpp.
//
// Idea     The levels cTmB...eTmB (split) and mRgGaB...nRgGaB (merged) contain the schedule of
//          fewer ranks. A nested level must come first in the level around it. mRgGaB starts with a
//          factor of its own, so only cTmB can contain another level. For the ranks that remain
//          inside cTmB, each split or merged schedule is possible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "collectives/notation/enumerate.hpp"

namespace weft::test {

/// Returns up to `count_max` elements of a list at equal distances, starting with the first one.
inline std::vector<std::string> evenly(const std::vector<std::string>& all, std::size_t count_max) {
    std::vector<std::string> chosen;
    const std::size_t count = std::min(count_max, all.size());
    for (std::size_t i = 0; i < count; ++i) chosen.push_back(all[i * all.size() / count]);
    return chosen;
}

/// Returns all schedules of a family for `size` ranks.
inline std::vector<std::string> schedules_of(Rank size, collectives::ScheduleFamily family) {
    std::vector<std::string> all;
    collectives::for_each_schedule(size, family, [&](const collectives::Schedule& schedule) {
        all.push_back(collectives::print(schedule));
        return true;
    });
    return all;
}

/// Returns all schedules cTmB,INNER,eTmB for `size` ranks; inside(n) returns each INNER for the n
/// ranks that remain inside.
template <class Inside>
std::vector<std::string> in_c_levels(Rank size, Inside inside) {
    std::vector<std::string> all;
    for (Rank base = 2; base <= size; ++base) {
        for (Rank groups = 1; groups * base <= size; ++groups) {
            const Rank remaining = size - groups * (base - 1);
            for (const std::string& inner : inside(remaining)) {
                all.push_back("c" + std::to_string(groups * base) + "m" + std::to_string(base) +
                              "," + inner + ",e" + std::to_string(groups * base) + "m" +
                              std::to_string(base));
            }
        }
    }
    return all;
}

/// Returns schedules of three kinds: cTmB around split schedules, around merged ones, and around
/// another cTmB; up to `each_max` of each kind, none below 4 ranks.
inline std::vector<std::string> nested_specs(Rank size, std::size_t each_max) {
    using collectives::ScheduleFamily;
    const auto split = [](Rank n) { return schedules_of(n, ScheduleFamily::split); };
    const auto merged = [](Rank n) { return schedules_of(n, ScheduleFamily::merged); };
    const auto two_levels = [&](Rank n) {
        std::vector<std::string> inner = evenly(in_c_levels(n, split), 3);
        for (std::string& spec : evenly(in_c_levels(n, merged), 3))
            inner.push_back(std::move(spec));
        return inner;
    };
    std::vector<std::string> specs;
    for (const auto& all :
         {in_c_levels(size, split), in_c_levels(size, merged), in_c_levels(size, two_levels)}) {
        for (std::string& spec : evenly(all, each_max)) specs.push_back(std::move(spec));
    }
    return specs;
}

}  // namespace weft::test
