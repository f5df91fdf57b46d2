// SPDX-License-Identifier: BSD-3-Clause
#include "run/observe/clocks.hpp"

#include <algorithm>

#include "base/clock.hpp"

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

base::Result<ClockOffsets> compare_clocks(const GatherArrivals& gather_arrivals) {
    std::vector<ClockRound> rounds;
    for (int round = 0; round < kRounds; ++round) {
        const std::uint64_t begin_ns = base::monotonic_ns();
        auto seen_ns = gather_arrivals();
        if (!seen_ns) return seen_ns.failure();
        rounds.push_back({begin_ns, base::monotonic_ns(), *std::move(seen_ns)});
    }
    return offsets_of(rounds);
}

}  // namespace weft::run
