// SPDX-License-Identifier: BSD-3-Clause
// choices.hpp - finds by trials whether weft or the host is faster for a kind of call.
//
// Idea     A place is one collective with one size class (a factor of two) on one communicator. Its
//          first calls warm up weft. Then blocks of calls alternate between the host and weft and
//          are timed. The members compare, block by block, the times of the slowest member. Short
//          calls are tried in long blocks that are timed as a whole. For long calls, the library
//          that is faster so far gets longer blocks. More blocks follow until the verdict is
//          significant; these cost little, because both libraries then take similar times. All
//          later calls use the faster library.
// Why      Both libraries' times depend on the program and on the load of the machine; a model of
//          the host would need its settings. Weft's first calls touch new memory in each bank, make
//          plans, and find out which buffers recur and are worth sharing with local peers. A single
//          call also differs from a call in a stream, where a sender runs ahead of its receivers by
//          hundreds of calls. Reading the clock takes as long as a short call.
// Holds    All decisions depend on the order of calls and on sizes that all members know, so all
//          members use the same library.
// Next     warm_up.hpp for the first long calls; layer.hpp for timing and comparing;
//          choice_file.hpp for stored verdicts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "faces/mpi/statistics.hpp"
#include "faces/mpi/warm_up.hpp"

namespace weft::mpi {

/// Number of calls that may still skip the look-up and go to the host.
using Glances = std::int64_t;

class Choices {
  public:
    enum class Way : std::uint8_t { untried, trying, ours, hosts };
    static constexpr std::size_t kSizes = 48;
    using Place = std::size_t;
    using Ways = std::array<Way, kKindNames.size() * kSizes>;
    /// Microseconds of a call with weft and with the host.
    using Times = std::array<double, 2>;
    static constexpr unsigned kRounds = 4;  ///< blocks of each library between comparisons
    static constexpr unsigned kRoundsMax =
        20;  ///< in all; if the verdict is still open then, the libraries are about equal
    /// Upper limit of block growth. Blocks double after an open comparison, because the cost of
    /// changing libraries grows with the distance between ranks.
    static constexpr unsigned kGrowthMax = 8;
    /// Microseconds of a call in each block: first weft's blocks, then the host's.
    using Blocks = std::array<double, 2 * std::size_t{kRounds}>;

    /// Number of warm-up calls of weft at a place (for long calls they alternate with the host's),
    /// and of calls in a block.
    struct Pace {
        unsigned warm;
        unsigned block;
        /// Calls at the start of a block that may wait for ranks still in the other library.
        [[nodiscard]] constexpr unsigned skipped() const { return (block + 3) / 4; }
        [[nodiscard]] constexpr unsigned timed() const { return block - skipped(); }
    };
    static constexpr Pace kPace{128, 16};
    // Buffers of long calls are shared after at most 18 calls.
    static constexpr Pace kPaceOfLong{32, 4};     ///< of 256 KiB and more
    static constexpr Pace kPaceOfLongest{24, 4};  ///< of 1 MiB and more
    /// Longest block of the faster library while long calls are tried.
    static constexpr unsigned kLongBlockMax = 1024;
    static constexpr double kStreamUs = 250;  ///< duration of a long block
    static constexpr unsigned kStreamMax = 4096;
    /// Weft must take at most this fraction of the host's time; else the host serves the call.
    static constexpr double kGain = 0.97;

    /// Library of the next call at a place, and when to read the clock.
    struct Turn {
        bool tried = false;
        bool host = false;
        bool begins = false;  ///< read the clock before the call
        bool ends = false;    ///< read the clock after the call
    };

    Choices() = default;
    explicit Choices(const Ways& known) : ways_(known) {}

    [[nodiscard]] static Place place_of(Kind kind, std::size_t common_bytes);
    [[nodiscard]] static Pace pace_of(Place place);

    [[nodiscard]] bool decided(Place place) const { return ways_[place] >= Way::ours; }
    /// Returns true if calls of a decided place go to the host.
    [[nodiscard]] bool goes_to_host(Place place) const { return ways_[place] == Way::hosts; }
    [[nodiscard]] Way way(Place place) const { return ways_[place]; }
    [[nodiscard]] Turn next(Place place) {
        if (decided(place)) return {.host = goes_to_host(place)};
        return next_tried(place);
    }
    /// Records the call that next() described, with the times it requested. Returns true if
    /// decide() is due.
    [[nodiscard]] bool tried(Place place, const Turn& turn, double begun_us, double ended_us);
    /// Returns a counter of next calls that go to the host without next(). The caller decrements it
    /// for each. nullptr: the next call needs next().
    [[nodiscard]] Glances* glances(Place place);
    /// Returns the times of this rank.
    [[nodiscard]] Blocks blocks(Place place) const;
    /// Takes the longest times of all members, block by block. Returns false if more blocks follow.
    bool decide(Place place, const Blocks& longest);
    [[nodiscard]] static Times medians(const Blocks& blocks);
    /// Returns true if the number of wins differs from a fair coin's by more than two sigma.
    [[nodiscard]] static constexpr bool sure(unsigned gained, unsigned rounds) {
        const unsigned lost = rounds - gained;
        const unsigned more = gained > lost ? gained - lost : lost - gained;
        return more * more >= 4 * rounds;
    }

  private:
    /// State of a trial. It is updated by counting, because a division would take a tenth of
    /// a short call.
    struct Trial {
        Pace pace{};
        std::optional<WarmUp> warm_up;      ///< of long calls
        unsigned warm_left = 0;             ///< for short calls: remaining warm-up calls of weft
        std::array<unsigned, 2> lengths{};  ///< calls of a block of weft and of the host
        unsigned block = 0;      ///< index of the block: even ones are the host's, odd ones weft's
        unsigned in_block = 0;   ///< calls of the block so far
        bool as_stream = false;  ///< blocks are timed as a whole
        bool streams_known = false;
        Glances glances_given =
            0;  ///< length of the last run of skipped look-ups; glances_left of them remain
        Glances glances_left = 0;
        double begun_us = 0;
        Blocks calls_us{};    ///< result of the comparison before blocks became long
        Blocks us{};          ///< sums over the calls of a block
        unsigned growth = 1;  ///< factor by which blocks have grown
        unsigned rounds = 0;
        unsigned gained = 0;  ///< rounds in which weft was faster

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
