// SPDX-License-Identifier: BSD-3-Clause
// choices.hpp - whether weft or the host is quicker at a call, found by trying both.
//
// Idea     Calls of one collective and of similar size (within a factor of two) on a communicator
//          are one place. Its first calls go to weft; then blocks of calls go to the host and to
//          weft in turn, and their times are kept; then the members compare sums of medians. Short
//          calls are tried once more in long blocks, which are timed as a whole. Then the rest
//          goes one way.
// Why      Both libraries' times depend on what else shares the machine, and on the program; a
//          model of the host would have to know its settings. Weft's first calls touch memory that
//          none has touched before, bank after bank, and make plans; and a call alone is not what
//          it is in a stream of its kind, where a sender runs ahead of its receivers for hundreds
//          of calls, and a look at the clock takes as long as a call.
// Holds    What is asked here depends on the order of calls and on sizes that all members know, so
//          that they all go the same way.
// Next     layer.hpp for who times calls and compares; choice_file.hpp for what is kept of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "front/mpi/statistics.hpp"

namespace weft::mpi {

class Choices {
  public:
    enum class Way : std::uint8_t { untried, trying, ours, hosts };
    static constexpr std::size_t kSizes = 48;
    using Place = std::size_t;
    using Ways = std::array<Way, kKindNames.size() * kSizes>;
    /// Microseconds with weft and with the host.
    using Times = std::array<double, 2>;

    /// How many calls of a place go to weft first, and to each library before the other one's turn.
    struct Pace {
        unsigned warm;
        unsigned block;
        /// The first calls of a block may wait for ranks that come from the other library.
        [[nodiscard]] constexpr unsigned skipped() const { return block / 4; }
        [[nodiscard]] constexpr unsigned timed() const { return block - skipped(); }
        [[nodiscard]] constexpr unsigned tried() const { return warm + kRounds * 2 * block; }
    };
    static constexpr unsigned kRounds = 4;  ///< blocks of each library
    static constexpr Pace kPace{128, 16};
    static constexpr Pace kPaceOfLong{16, 4};    ///< of 256 KiB and more
    static constexpr Pace kPaceOfLongest{6, 2};  ///< of 1 MiB and more
    static constexpr double kStreamUs = 250;     ///< of a long block
    static constexpr unsigned kStreamMax = 4096;
    /// Weft must be so much quicker: what is near the host's time is as well left to it.
    static constexpr double kGain = 0.97;

    /// What the next call of a place is.
    struct Turn {
        bool tried = false;
        bool host = false;
        bool begins = false;  ///< the clock is looked at before it
        bool ends = false;    ///< and after it
    };

    Choices() = default;
    explicit Choices(const Ways& known) : ways_(known) {}

    [[nodiscard]] static Place place_of(Kind kind, std::size_t common_bytes);
    [[nodiscard]] static Pace pace_of(Place place);

    [[nodiscard]] bool decided(Place place) const { return ways_[place] >= Way::ours; }
    /// Where calls of a place go that is decided.
    [[nodiscard]] bool goes_to_host(Place place) const { return ways_[place] == Way::hosts; }
    [[nodiscard]] Way way(Place place) const { return ways_[place]; }
    [[nodiscard]] Turn next(Place place);
    /// The next call is over; times where next() asked for them. True: decide() is due.
    [[nodiscard]] bool tried(Place place, double begun_us, double ended_us);
    /// This rank's medians over blocks, of a call.
    [[nodiscard]] Times medians(Place place) const;
    /// Means of the medians of all members. False: another trial follows.
    bool decide(Place place, const Times& means);

  private:
    struct Trial {
        Pace pace;
        bool as_stream = false;  ///< blocks are timed as a whole
        unsigned calls = 0;
        double begun_us = 0;
        Times calls_us{};                                 ///< of calls that were timed one by one
        std::array<std::array<double, kRounds>, 2> us{};  ///< by way and block
    };
    [[nodiscard]] bool ours_is_quicker(const Trial& trial, const Times& means) const;

    Ways ways_{};
    std::array<std::unique_ptr<Trial>, kKindNames.size() * kSizes> trials_;
};

}  // namespace weft::mpi
