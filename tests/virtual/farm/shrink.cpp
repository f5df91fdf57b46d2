// SPDX-License-Identifier: BSD-3-Clause
#include "tests/virtual/farm/shrink.hpp"

#include <algorithm>

namespace weft::farm {

namespace {

/// Returns the number of schedules to try for a part with `act_count` acts. A short part fails with
/// a smaller share of all schedules, but runs fast.
std::uint64_t schedules_to_try(std::size_t act_count) {
    return act_count > 40 ? 6 : act_count > 12 ? 20 : 60;
}

/// If `part` also fails, stores it with its schedule and error in `smallest`, and returns true.
bool replace_if_failing(const Scenario& scenario, std::vector<std::size_t> part,
                        FailingPart& smallest) {
    for (std::uint64_t k = 0; k < schedules_to_try(part.size()); ++k) {
        const std::uint64_t schedule = k == 0 ? smallest.schedule : k;
        Report report = run_in_child(scenario, part, schedule);
        if (report.wrong.empty()) continue;
        smallest = {std::move(part), schedule, std::move(report.wrong)};
        return true;
    }
    return false;
}

/// Tries to remove each piece of `piece_length` consecutive acts, from the end, and keeps the
/// removal if the rest still fails. Returns true if any piece was removed.
bool remove_pieces(const Scenario& scenario, std::size_t piece_length, FailingPart& smallest) {
    bool any = false;
    for (std::size_t end = smallest.part.size(); end > 0;) {
        const std::size_t begin = end > piece_length ? end - piece_length : 0;
        std::vector<std::size_t> rest = smallest.part;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(begin),
                   rest.begin() + static_cast<std::ptrdiff_t>(end));
        any = replace_if_failing(scenario, std::move(rest), smallest) || any;
        end = std::min(begin, smallest.part.size());
    }
    return any;
}

}  // namespace

FailingPart shrink(const Scenario& scenario, FailingPart smallest) {
    for (std::size_t length = smallest.part.size() / 2; length > 1; length /= 2)
        remove_pieces(scenario, length, smallest);
    for (int round = 0; round < 4; ++round)
        if (!remove_pieces(scenario, 1, smallest)) break;
    return smallest;
}

}  // namespace weft::farm
