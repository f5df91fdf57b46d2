// SPDX-License-Identifier: BSD-3-Clause
// choices.hpp - whether weft or the host is quicker at a call, found by trying both.
//
// Idea     Calls of one collective and of similar size (within a factor of two) on a communicator
//          are one place. Its first calls go to weft; then blocks of calls go to the host and to
//          weft in turn, and their times are kept; then the members compare sums of medians, and
//          the rest goes one way.
// Why      Both libraries' times depend on what else shares the machine, and on the program; a
//          model of the host would have to know its settings. Weft's first calls touch memory that
//          none has touched before, bank after bank, and make plans; and a call alone is not what
//          it is in a stream of its kind.
// Holds    What is asked here depends on the order of calls and on sizes that all members know, so
//          that they all go the same way.
// Next     layer.hpp for who times calls and compares.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "front/mpi/statistics.hpp"

namespace weft::mpi {

class Choices {
  public:
    enum class Way : std::uint8_t { untried, trying, ours, hosts };
    using Place = std::size_t;
    /// Microseconds with weft and with the host.
    using Times = std::array<double, 2>;

    /// How many calls of a place go to weft first, and to each library before the other one's turn.
    struct Pace {
        unsigned warm;
        unsigned block;
        [[nodiscard]] constexpr unsigned tried() const { return warm + kRounds * 2 * block; }
    };
    static constexpr unsigned kRounds = 4;  ///< blocks of each library
    static constexpr Pace kPace{128, 16};
    static constexpr Pace kPaceOfLong{16, 4};  ///< of 256 KiB and more

    [[nodiscard]] static Place place_of(Kind kind, std::size_t common_bytes);
    [[nodiscard]] static Pace pace_of(Place place) {
        return place % kSizes >= kLongSize ? kPaceOfLong : kPace;
    }

    [[nodiscard]] bool decided(Place place) const { return ways_[place] >= Way::ours; }
    /// Whether the next call goes to the host.
    [[nodiscard]] bool goes_to_host(Place place) const;
    /// The time of the next call. True: it was the last one that is tried, and decide() is due.
    [[nodiscard]] bool tried(Place place, double us);
    /// This rank's medians over blocks, of the sums of all but the first calls of a block, in which
    /// ranks may still wait for those that come from the other library.
    [[nodiscard]] Times medians(Place place) const;
    /// Sums of the medians of all members.
    void decide(Place place, const Times& sums);

  private:
    static constexpr std::size_t kSizes = 48;
    static constexpr std::size_t kLongSize = 19;
    struct Trial {
        unsigned calls = 0;
        std::array<std::array<double, kRounds>, 2> us{};  ///< by way and block
    };
    [[nodiscard]] static bool hosts_turn(Pace pace, unsigned call) {
        return call >= pace.warm && (call - pace.warm) / pace.block % 2 == 0;
    }

    std::array<Way, kKindNames.size() * kSizes> ways_{};
    std::unordered_map<Place, Trial> trials_;
};

}  // namespace weft::mpi
