// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/choices.hpp"

#include <algorithm>
#include <bit>

namespace weft::mpi {

namespace {

/// Size classes from which on fewer calls are tried.
constexpr std::size_t kLongSize = std::bit_width(std::size_t{256} << 10);
constexpr std::size_t kLongestSize = std::bit_width(std::size_t{1} << 20);

/// A long block that takes more than this factor of its calls' single times is not a stream: the
/// program does other work between the calls.
constexpr double kStreamGaps = 4;

constexpr bool is_long(Choices::Place place) {
    return place % Choices::kSizes >= kLongSize;
}

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
    auto& held = trials_[place];
    if (held == nullptr) {
        const Pace pace = pace_of(place);
        held = std::make_unique<Trial>();
        held->pace = pace;
        held->lengths.fill(pace.block);
        if (is_long(place))
            held->warm_up.emplace(pace.warm);
        else
            held->warm_left = pace.warm;
        ways_[place] = Way::trying;
    }
    Trial& trial = *held;
    if (trial.warm_up)
        return {.tried = true, .host = trial.warm_up->host(), .begins = true, .ends = true};
    Turn turn{.tried = true};
    if (trial.warm_left != 0) return turn;
    trial.in_block += static_cast<unsigned>(trial.glances_given - trial.glances_left);
    trial.glances_given = trial.glances_left = 0;
    turn.host = trial.block % 2 == 0;
    const unsigned skipped = trial.pace.skipped();
    turn.begins = trial.as_stream ? trial.in_block == skipped : trial.in_block >= skipped;
    turn.ends = trial.as_stream ? trial.in_block + 1 == trial.length(turn.host) : turn.begins;
    return turn;
}

bool Choices::tried(Place place, const Turn& turn, double begun_us, double ended_us) {
    Trial& trial = *trials_[place];
    if (trial.warm_up) return trial.warm_up->called(turn.host, ended_us - begun_us);
    if (trial.warm_left != 0) {
        --trial.warm_left;
        return false;
    }
    if (turn.begins) trial.begun_us = begun_us;
    if (turn.ends)
        trial.us[(turn.host ? kRounds : 0) + trial.block / 2] += ended_us - trial.begun_us;
    if (++trial.in_block < trial.length(turn.host)) return false;
    trial.in_block = 0;
    return ++trial.block == 2 * kRounds;
}

/// Calls of a long block that are not timed can skip the look-up of communicator and arguments,
/// which takes a fifth of the host's fastest calls.
Glances* Choices::glances(Place place) {
    Trial* const trial = trials_[place].get();
    if (trial == nullptr || !trial->as_stream || trial->block % 2 != 0) return nullptr;
    const unsigned skipped = trial->pace.skipped();
    const unsigned until = trial->in_block <= skipped ? skipped : trial->length(true) - 1;
    if (until == trial->in_block) return nullptr;
    trial->glances_given = trial->glances_left = until - trial->in_block;
    return &trial->glances_left;
}

Choices::Blocks Choices::blocks(Place place) const {
    const Trial& trial = *trials_[place];
    Blocks found = trial.us;
    if (trial.warm_up) {
        const WarmUp::Times times = trial.warm_up->times();
        std::ranges::copy(times.ours_us, found.begin());
        found[kRounds] = times.hosts_us;
        return found;
    }
    for (std::size_t block = 0; block < found.size(); ++block)
        found[block] /= trial.length(block >= kRounds) - trial.pace.skipped();
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

void Choices::count(Trial& trial, const Blocks& longest) {
    for (std::size_t round = 0; round < kRounds; ++round)
        if (longest[round] <= kGain * longest[kRounds + round]) ++trial.gained;
    trial.rounds += kRounds;
}

/// Returns the number of calls in a long block; 0 if it would be shorter than twice
/// the present block.
unsigned Choices::calls_of_stream(const Trial& trial, const Blocks& longest) {
    const Times times = medians(longest);
    const double call_us = std::max({times[0], times[1], kStreamUs / kStreamMax});
    const auto fitting = static_cast<unsigned>(kStreamUs / call_us);
    return fitting < 2 * trial.pace.block ? 0 : fitting;
}

bool Choices::is_stream(const Trial& trial, const Blocks& longest) {
    const Times alone = medians(trial.calls_us);
    const Times now = medians(longest);
    return std::min(now[0], now[1]) < kStreamGaps * std::max(alone[0], alone[1]);
}

void Choices::warmed_up(Trial& trial, const Blocks& longest) {
    if (trial.warm_up->compared({longest[kRounds], {longest[0], longest[1]}})) return;
    set_lengths(trial, {trial.warm_up->expected_us(), trial.warm_up->hosts_us()});
    trial.warm_up.reset();
}

/// Gives the faster library up to kLongBlockMax calls in a block, so that calls of the slower
/// library lose at most a thirtieth of the time.
void Choices::set_lengths(Trial& trial, const Times& call_us) {
    const unsigned block = trial.pace.block;
    const std::size_t quicker = call_us[0] < call_us[1] ? 0 : 1;
    const double least_us = std::max(call_us[quicker], kStreamUs / kStreamMax);
    const double loss = (call_us[1 - quicker] - least_us) / least_us;
    trial.lengths.fill(block);
    const double longer = std::min(block * loss / WarmUp::kShare, double{kLongBlockMax});
    trial.lengths[quicker] = std::max(block, static_cast<unsigned>(longer));
}

bool Choices::decide(Place place, const Blocks& longest) {
    Trial& trial = *trials_[place];
    trial.us = {};
    trial.block = 0;
    if (trial.warm_up) {
        warmed_up(trial, longest);
        return false;
    }
    const unsigned calls = trial.streams_known ? 0 : calls_of_stream(trial, longest);
    if (!trial.as_stream && calls != 0) {
        trial.pace = {0, calls};
        trial.lengths.fill(calls);
        trial.as_stream = true;
        trial.calls_us = longest;
        return false;
    }
    Blocks counted = longest;
    if (trial.as_stream && !trial.streams_known && !is_stream(trial, longest)) {
        trial.pace = {0, pace_of(place).block};
        trial.as_stream = false;
        counted = trial.calls_us;
    }
    count(trial, counted);
    trial.streams_known = true;
    if (!sure(trial.gained, trial.rounds) && trial.rounds < kRoundsMax) {
        if (trial.growth < kGrowthMax) {
            trial.growth *= 2;
            trial.pace.block *= 2;
        }
        trial.lengths.fill(trial.pace.block);
        if (is_long(place) && !trial.as_stream) set_lengths(trial, medians(counted));
        return false;
    }
    ways_[place] = 2 * trial.gained > trial.rounds ? Way::ours : Way::hosts;
    trials_[place].reset();
    return true;
}

}  // namespace weft::mpi
