// SPDX-License-Identifier: BSD-3-Clause
// choices.hpp - whether weft or the host is quicker at a call, found by trying both.
//
// Idea     Calls of one collective and of similar size (within a factor of two) on a communicator
//          are one place. Its first calls warm up weft; then blocks of calls go to the host and to
//          weft in turn, and their times are kept; then the members compare, block by block, the
//          times of the slowest of them. Short calls are tried in long blocks, which are timed as a
//          whole; of long calls, the library that is quicker so far gets longer blocks. More blocks
//          follow as long as it is not sure who is quicker, which costs nearly nothing, since both
//          take about as long then. The rest goes one way.
// Why      Both libraries' times depend on what else shares the machine, and on the program; a
//          model of the host would have to know its settings. Weft's first calls touch memory that
//          none has touched before, bank after bank, make plans, and find out which buffers come
//          again and are worth sharing with mates; and a call alone is not what
//          it is in a stream of its kind, where a sender runs ahead of its receivers for hundreds
//          of calls, and a look at the clock takes as long as a call.
// Holds    What is asked here depends on the order of calls and on sizes that all members know, so
//          that they all go the same way.
// Next     warm_up.hpp for the first calls of long ones; layer.hpp for who times calls and
//          compares; choice_file.hpp for what is kept of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "front/mpi/statistics.hpp"
#include "front/mpi/warm_up.hpp"

namespace weft::mpi {

/// How many calls more may go the remembered way.
using Glances = std::int64_t;

class Choices {
  public:
    enum class Way : std::uint8_t { untried, trying, ours, hosts };
    static constexpr std::size_t kSizes = 48;
    using Place = std::size_t;
    using Ways = std::array<Way, kKindNames.size() * kSizes>;
    /// Microseconds with weft and with the host.
    using Times = std::array<double, 2>;
    static constexpr unsigned kRounds = 4;      ///< blocks of each library between comparisons
    static constexpr unsigned kRoundsMax = 20;  ///< in all: what is not sure then is near enough
    /// Blocks are twice as long after a comparison that was not sure, up to this: to change from
    /// one library to the other costs time, which grows with how far ranks run ahead of others.
    static constexpr unsigned kGrowthMax = 8;
    /// Microseconds of a call in each block: weft's, then the host's.
    using Blocks = std::array<double, 2 * std::size_t{kRounds}>;

    /// How many calls of a place go to weft first (of long ones: among the host's), and to each
    /// library before the other one's turn.
    struct Pace {
        unsigned warm;
        unsigned block;
        /// The first calls of a block may wait for ranks that come from the other library.
        [[nodiscard]] constexpr unsigned skipped() const { return (block + 3) / 4; }
        [[nodiscard]] constexpr unsigned timed() const { return block - skipped(); }
    };
    static constexpr Pace kPace{128, 16};
    // Buffers of long calls are shared after up to 18 of them.
    static constexpr Pace kPaceOfLong{32, 4};     ///< of 256 KiB and more
    static constexpr Pace kPaceOfLongest{24, 4};  ///< of 1 MiB and more
    /// Of the quicker library, while long calls are tried.
    static constexpr unsigned kLongBlockMax = 1024;
    static constexpr double kStreamUs = 250;  ///< of a long block
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
    [[nodiscard]] Turn next(Place place) {
        if (decided(place)) return {.host = goes_to_host(place)};
        return next_tried(place);
    }
    /// The next call is over; times where next() asked for them. True: decide() is due.
    [[nodiscard]] bool tried(Place place, const Turn& turn, double begun_us, double ended_us);
    /// How many of the next calls go to the host without being asked about: who makes them lowers
    /// this. nullptr: none.
    [[nodiscard]] Glances* glances(Place place);
    /// The times of this rank.
    [[nodiscard]] Blocks blocks(Place place) const;
    /// Block by block, the longest times of all members. False: more blocks follow.
    bool decide(Place place, const Blocks& longest);
    [[nodiscard]] static Times medians(const Blocks& blocks);
    /// Whether so many of the rounds, or so few, are no chance: two standard deviations of a coin.
    [[nodiscard]] static constexpr bool sure(unsigned gained, unsigned rounds) {
        const unsigned lost = rounds - gained;
        const unsigned more = gained > lost ? gained - lost : lost - gained;
        return more * more >= 4 * rounds;
    }

  private:
    /// Counted down and on, call by call: a division takes as long as a tenth of a short call.
    struct Trial {
        Pace pace{};
        std::optional<WarmUp> warm_up;      ///< of long calls
        unsigned warm_left = 0;             ///< of short calls: weft's that are left
        std::array<unsigned, 2> lengths{};  ///< calls of a block of weft and of the host
        unsigned block = 0;                 ///< the host's, weft's, the host's...
        unsigned in_block = 0;              ///< calls of it that are over
        bool as_stream = false;             ///< blocks are timed as a whole
        bool streams_known = false;
        Glances glances_given = 0;  ///< of these, glances_left are not used yet
        Glances glances_left = 0;
        double begun_us = 0;
        Blocks calls_us{};    ///< of calls that were timed one by one
        Blocks us{};          ///< sums over the calls of a block
        unsigned growth = 1;  ///< of blocks
        unsigned rounds = 0;
        unsigned gained = 0;  ///< of these, those in which weft was quicker

        [[nodiscard]] unsigned length(bool host) const { return lengths[host ? 1 : 0]; }
    };
    static void warmed_up(Trial& trial, const Blocks& longest);
    static void set_lengths(Trial& trial, const Times& call_us);
    static void count(Trial& trial, const Blocks& longest);
    [[nodiscard]] static unsigned calls_of_stream(const Trial& trial, const Blocks& longest);
    [[nodiscard]] static bool is_stream(const Trial& trial, const Blocks& longest);
    [[nodiscard]] Turn next_tried(Place place);

    Ways ways_{};
    std::array<std::unique_ptr<Trial>, kKindNames.size() * kSizes> trials_;
};

}  // namespace weft::mpi
