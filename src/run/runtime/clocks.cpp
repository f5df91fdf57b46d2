// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/clocks.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "run/runtime/team.hpp"

namespace weft::run {

namespace {

constexpr int kRounds = 12;

}  // namespace

ClockOffsets offsets_of(const std::vector<ClockRound>& rounds) {
    const ClockRound& best = *std::ranges::min_element(
        rounds, {}, [](const ClockRound& round) { return round.end_ns - round.begin_ns; });
    ClockOffsets offsets{.at_ns = best.begin_ns + (best.end_ns - best.begin_ns) / 2,
                         .error_ns = (best.end_ns - best.begin_ns + 1) / 2};
    for (const std::uint64_t seen_ns : best.seen_ns)
        offsets.ahead_ns.push_back(static_cast<std::int64_t>(seen_ns - offsets.at_ns));
    return offsets;
}

std::int64_t ahead_at(const ClockOffsets& first, const ClockOffsets& last, std::size_t rank,
                      std::uint64_t time_ns) {
    const std::int64_t before = first.ahead_ns[rank];
    const std::int64_t after = last.ahead_ns[rank];
    if (last.at_ns <= first.at_ns) return before;
    // Uses this rank's clock, whose rate hardly differs from rank 0's.
    const auto since =
        static_cast<double>(static_cast<std::int64_t>(time_ns - first.at_ns) - before);
    const double part = since / static_cast<double>(last.at_ns - first.at_ns);
    return before + static_cast<std::int64_t>(part * static_cast<double>(after - before));
}

base::Result<ClockOffsets> compare_clocks(Team& team) {
    std::vector<ClockRound> rounds;
    for (int round = 0; round < kRounds; ++round) {
        ClockRound found{.begin_ns = base::monotonic_ns(),
                         .seen_ns = std::vector<std::uint64_t>(
                             team.rank() == 0 ? static_cast<std::size_t>(team.size()) : 0)};
        std::uint64_t token = 0;
        const base::Failure* why =
            team.run(Call::broadcast(&token, 1, Type::uint64, 0), Purpose::observing);
        std::uint64_t seen_ns = base::monotonic_ns();
        if (why == nullptr)
            why = team.run(Call::gather(&seen_ns, found.seen_ns.data(), 1, Type::uint64, 0),
                           Purpose::observing);
        if (why != nullptr) return *why;
        found.end_ns = base::monotonic_ns();
        rounds.push_back(std::move(found));
    }
    return offsets_of(rounds);
}

}  // namespace weft::run
