// SPDX-License-Identifier: BSD-3-Clause
// nested_specs.hpp - schedules of recursive multiplying with nested levels.
//
// Idea     A level must be the first part of the level around it, and mRgGaB executes a factor when
//          it opens. So only cTmB can contain another level. Inside cTmB n' ranks remain, for which
//          each split or merged schedule is possible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "collectives/notation/enumerate.hpp"

namespace weft::test {

/// Returns up to `most` elements, evenly spread, including the first one.
inline std::vector<std::string> evenly(const std::vector<std::string>& all, std::size_t most) {
    std::vector<std::string> some;
    const std::size_t count = std::min(most, all.size());
    for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
    return some;
}

inline std::vector<std::string> schedules_of(Rank size, collectives::ScheduleFamily family) {
    std::vector<std::string> all;
    collectives::for_each_schedule(size, family, [&](const collectives::Schedule& schedule) {
        all.push_back(collectives::print(schedule));
        return true;
    });
    return all;
}

/// Returns all c levels of `size` ranks, around each spec that inside(n') returns.
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

/// Returns c around split schedules, c around merged ones, and c around c; up to `most` of each.
/// Needs 4 ranks or more.
inline std::vector<std::string> nested_specs(Rank size, std::size_t most) {
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
        for (std::string& spec : evenly(all, most)) specs.push_back(std::move(spec));
    }
    return specs;
}

}  // namespace weft::test
