// SPDX-License-Identifier: BSD-3-Clause
#include "front/mpi/choices.hpp"

#include <algorithm>
#include <bit>

namespace weft::mpi {

namespace {

/// Bits of the sizes from which on fewer calls are tried.
constexpr std::size_t kLongSize = std::bit_width(std::size_t{256} << 10);
constexpr std::size_t kLongestSize = std::bit_width(std::size_t{1} << 20);

/// A block of a stream that takes so many times as long as its calls is none: the program does
/// something else between them.
constexpr double kStreamGaps = 4;

}  // namespace

Choices::Place Choices::place_of(Kind kind, std::size_t common_bytes) {
    const auto size = static_cast<std::size_t>(std::bit_width(common_bytes));
    return static_cast<std::size_t>(kind) * kSizes + std::min(size, kSizes - 1);
}

Choices::Pace Choices::pace_of(Place place) {
    const std::size_t size = place % kSizes;
    return size >= kLongestSize ? kPaceOfLongest : size >= kLongSize ? kPaceOfLong : kPace;
}

Choices::Turn Choices::next_tried(Place place) {
    auto& trial = trials_[place];
    if (trial == nullptr) {
        trial = std::make_unique<Trial>(Trial{.pace = pace_of(place)});
        ways_[place] = Way::trying;
    }
    trial->calls += static_cast<unsigned>(trial->glances_given - trial->glances_left);
    trial->glances_given = trial->glances_left = 0;
    Turn turn{.tried = true};
    if (trial->calls < trial->pace.warm) return turn;
    const unsigned later = trial->calls - trial->pace.warm;
    const unsigned in_block = later % trial->pace.block;
    turn.host = later / trial->pace.block % 2 == 0;
    turn.begins =
        trial->as_stream ? in_block == trial->pace.skipped() : in_block >= trial->pace.skipped();
    turn.ends = trial->as_stream ? in_block + 1 == trial->pace.block : turn.begins;
    return turn;
}

bool Choices::tried(Place place, double begun_us, double ended_us) {
    const Turn turn = next(place);
    Trial& trial = *trials_[place];
    const unsigned call = trial.calls++;
    if (turn.begins) trial.begun_us = begun_us;
    if (turn.ends)
        trial.us[(turn.host ? kRounds : 0) + (call - trial.pace.warm) / (2 * trial.pace.block)] +=
            ended_us - trial.begun_us;
    return trial.calls == trial.pace.tried();
}

/// To look for a call's communicator and its arguments takes a fifth of the quickest calls of a
/// host, which those will not pay that go to the host for good.
Glances* Choices::glances(Place place) {
    Trial* const trial = trials_[place].get();
    if (trial == nullptr || !trial->as_stream) return nullptr;
    const Pace& pace = trial->pace;
    const unsigned in_block = trial->calls % pace.block;  // no call goes before in a stream
    const bool host = trial->calls / pace.block % 2 == 0;
    if (!host) return nullptr;
    const unsigned until = in_block <= pace.skipped() ? pace.skipped() : pace.block - 1;
    if (until == in_block) return nullptr;
    trial->glances_given = trial->glances_left = until - in_block;
    return &trial->glances_left;
}

Choices::Blocks Choices::blocks(Place place) const {
    const Trial& trial = *trials_[place];
    Blocks found = trial.us;
    for (double& us : found) us /= trial.pace.timed();
    return found;
}

Choices::Times Choices::medians(const Blocks& blocks) {
    Times found{};
    for (std::size_t way = 0; way < found.size(); ++way) {
        std::array<double, kRounds> sorted{};
        std::copy_n(blocks.begin() + static_cast<std::ptrdiff_t>(way * kRounds), kRounds,
                    sorted.begin());
        std::ranges::sort(sorted);
        found[way] = (sorted[kRounds / 2 - 1] + sorted[kRounds / 2]) / 2;
    }
    return found;
}

bool Choices::ours_is_quicker(const Trial& trial, const Blocks& longest) {
    const Times alone = medians(trial.calls_us);
    const Times now = medians(longest);
    const bool stream = std::min(now[0], now[1]) < kStreamGaps * std::max(alone[0], alone[1]);
    const Blocks& counted = trial.as_stream && !stream ? trial.calls_us : longest;
    unsigned gained = 0;
    for (std::size_t round = 0; round < kRounds; ++round)
        if (counted[round] < counted[kRounds + round]) ++gained;
    const Times times = medians(counted);
    return gained >= kRoundsGained && times[0] <= kGain * times[1];
}

bool Choices::decide(Place place, const Blocks& longest) {
    Trial& trial = *trials_[place];
    const Times times = medians(longest);
    const double call_us = std::max({times[0], times[1], kStreamUs / kStreamMax});
    const auto fitting = static_cast<unsigned>(kStreamUs / call_us);
    if (!trial.as_stream && fitting >= 2 * trial.pace.block) {
        trial = {.pace = {0, fitting}, .as_stream = true, .calls_us = longest};
        return false;
    }
    ways_[place] = ours_is_quicker(trial, longest) ? Way::ours : Way::hosts;
    trials_[place].reset();
    return true;
}

}  // namespace weft::mpi
