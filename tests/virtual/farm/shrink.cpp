// SPDX-License-Identifier: BSD-3-Clause
#include "tests/virtual/farm/shrink.hpp"

#include <algorithm>

namespace weft::farm {

namespace {

/// Returns the number of schedules to try for a part. Short parts run fast, but fewer schedules
/// make them fail.
std::uint64_t schedules_to_try(std::size_t acts) {
    return acts > 40 ? 6 : acts > 12 ? 20 : 60;
}

/// Replaces the failing part by `part` and returns true if `part` fails, too.
bool replace_if_failing(const Scenario& scenario, std::vector<std::size_t> part, Failing& failing) {
    for (std::uint64_t k = 0; k < schedules_to_try(part.size()); ++k) {
        const std::uint64_t schedule = k == 0 ? failing.schedule : k;
        Report report = run_in_child(scenario, part, schedule);
        if (report.wrong.empty()) continue;
        failing = {std::move(part), schedule, std::move(report.wrong)};
        return true;
    }
    return false;
}

/// Removes each piece of `acts` acts without which the rest still fails. Returns true if any piece
/// was removed.
bool remove_pieces(const Scenario& scenario, std::size_t acts, Failing& failing) {
    bool any = false;
    for (std::size_t end = failing.part.size(); end > 0;) {
        const std::size_t begin = end > acts ? end - acts : 0;
        std::vector<std::size_t> rest = failing.part;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(begin),
                   rest.begin() + static_cast<std::ptrdiff_t>(end));
        any = replace_if_failing(scenario, std::move(rest), failing) || any;
        end = std::min(begin, failing.part.size());
    }
    return any;
}

}  // namespace

Failing shrink(const Scenario& scenario, Failing failing) {
    for (std::size_t acts = failing.part.size() / 2; acts > 1; acts /= 2)
        remove_pieces(scenario, acts, failing);
    for (int round = 0; round < 4; ++round)
        if (!remove_pieces(scenario, 1, failing)) break;
    return failing;
}

}  // namespace weft::farm
