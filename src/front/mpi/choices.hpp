// SPDX-License-Identifier: BSD-3-Clause
// choices.hpp - whether weft or the host is quicker at a call, found by trying both.
//
// Idea     Calls of one collective and of like size (within a factor of two) on a communicator are
//          one place. The first calls of a place go to weft and to the host in turn, and their
//          times are kept; then the members compare sums of medians, and the rest goes one way.
// Why      Both libraries' times depend on what else shares the machine, and on the program; a
//          model of the host would have to know its settings.
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

    /// Calls that are tried, counted for each way; those of weft come after a warm-up, in which it
    /// makes its plan and finds out that a buffer is used again.
    static constexpr unsigned kWarm = 8;
    static constexpr unsigned kBlock = 4;
    static constexpr unsigned kSamples = 2 * kBlock;
    static constexpr unsigned kTried = kWarm + 2 * kSamples;

    [[nodiscard]] static Place place_of(Kind kind, std::size_t common_bytes);

    [[nodiscard]] bool decided(Place place) const { return ways_[place] >= Way::ours; }
    /// Whether the next call goes to the host.
    [[nodiscard]] bool goes_to_host(Place place) const;
    /// The time of the next call. True: it was the last one that is tried, and decide() is due.
    [[nodiscard]] bool tried(Place place, double us);
    /// This rank's medians.
    [[nodiscard]] Times medians(Place place) const;
    /// Sums of the medians of all members.
    void decide(Place place, const Times& sums);

  private:
    static constexpr std::size_t kSizes = 48;
    struct Trial {
        unsigned calls = 0;
        std::array<std::array<double, kSamples>, 2> us{};
    };
    /// Of a call that is tried after the warm-up.
    [[nodiscard]] static bool hosts_turn(unsigned call) { return (call - kWarm) / kBlock % 2 == 0; }

    std::array<Way, kKindNames.size() * kSizes> ways_{};
    std::unordered_map<Place, Trial> trials_;
};

}  // namespace weft::mpi
