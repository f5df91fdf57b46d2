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

Choices::Turn Choices::next(Place place) {
    if (decided(place)) return {.host = goes_to_host(place)};
    auto& trial = trials_[place];
    if (trial == nullptr) {
        trial = std::make_unique<Trial>(Trial{.pace = pace_of(place)});
        ways_[place] = Way::trying;
    }
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
        trial.us[turn.host ? 1 : 0][(call - trial.pace.warm) / (2 * trial.pace.block)] +=
            ended_us - trial.begun_us;
    return trial.calls == trial.pace.tried();
}

Choices::Times Choices::medians(Place place) const {
    const Trial& trial = *trials_[place];
    Times found{};
    for (std::size_t way = 0; way < found.size(); ++way) {
        auto sorted = trial.us[way];
        std::ranges::sort(sorted);
        found[way] = (sorted[kRounds / 2 - 1] + sorted[kRounds / 2]) / 2 / trial.pace.timed();
    }
    return found;
}

bool Choices::ours_is_quicker(const Trial& trial, const Times& means) const {
    const auto quicker = [](const Times& times) { return times[0] <= kGain * times[1]; };
    const double longest = std::max(trial.calls_us[0], trial.calls_us[1]);
    const bool stream = std::min(means[0], means[1]) < kStreamGaps * longest;
    return quicker(trial.as_stream && !stream ? trial.calls_us : means);
}

bool Choices::decide(Place place, const Times& means) {
    Trial& trial = *trials_[place];
    const double longest = std::max({means[0], means[1], kStreamUs / kStreamMax});
    const auto fitting = static_cast<unsigned>(kStreamUs / longest);
    if (!trial.as_stream && fitting >= 2 * trial.pace.block) {
        trial = {.pace = {0, fitting}, .as_stream = true, .calls_us = means};
        return false;
    }
    ways_[place] = ours_is_quicker(trial, means) ? Way::ours : Way::hosts;
    trials_[place].reset();
    return true;
}

}  // namespace weft::mpi
