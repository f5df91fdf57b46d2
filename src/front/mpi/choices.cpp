// SPDX-License-Identifier: BSD-3-Clause
#include "front/mpi/choices.hpp"

#include <algorithm>
#include <bit>

namespace weft::mpi {

Choices::Place Choices::place_of(Kind kind, std::size_t common_bytes) {
    const auto size = static_cast<std::size_t>(std::bit_width(common_bytes));
    return static_cast<std::size_t>(kind) * kSizes + std::min(size, kSizes - 1);
}

bool Choices::goes_to_host(Place place) const {
    if (decided(place)) return ways_[place] == Way::hosts;
    const auto trial = trials_.find(place);
    return hosts_turn(pace_of(place), trial == trials_.end() ? 0 : trial->second.calls);
}

bool Choices::tried(Place place, double us) {
    ways_[place] = Way::trying;
    const Pace pace = pace_of(place);
    Trial& trial = trials_[place];
    const unsigned call = trial.calls++;
    if (call < pace.warm) return false;
    const unsigned later = call - pace.warm;
    if (later % pace.block >= pace.block / 4)
        trial.us[hosts_turn(pace, call) ? 1 : 0][later / (2 * pace.block)] += us;
    return trial.calls == pace.tried();
}

Choices::Times Choices::medians(Place place) const {
    Times found{};
    for (std::size_t way = 0; way < found.size(); ++way) {
        auto sorted = trials_.at(place).us[way];
        std::ranges::sort(sorted);
        found[way] = (sorted[kRounds / 2 - 1] + sorted[kRounds / 2]) / 2;
    }
    return found;
}

void Choices::decide(Place place, const Times& sums) {
    ways_[place] = sums[0] <= sums[1] ? Way::ours : Way::hosts;
    trials_.erase(place);
}

}  // namespace weft::mpi
