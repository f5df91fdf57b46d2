// SPDX-License-Identifier: BSD-3-Clause
// halo.hpp - the edges that neighbours on a grid of ranks put to each other, step after step.
//
// Idea     For each side of its piece a rank has two boxes, for even and for odd steps, each with a
//          signal. A neighbour puts its edge into one with the number of the step as signal; the
//          rank waits for that number.
// Why      With two boxes no barrier is needed in the loop. A neighbour puts step t + 2 into the
//          box of step t only when it has done step t + 1, for which it needed this rank's edge of
//          step t + 1, which this rank put when it was done with step t: it has read the box.
// Holds    Of one box at most one put is under way, so a signal can be set, not added to; between
//          two boxes the order of puts does not matter.
//          EdgeExchange does the same by a call of the neighbours that is started and waited for.
// Next     heat.cpp for the loop; docs/guide/programming.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>
#include <weft/neighbors.hpp>
#include <weft/weft.hpp>

#include "perf/apps/heat/plate.hpp"

namespace apps {

enum class Side { north, south, west, east };
inline constexpr std::array kSides{Side::north, Side::south, Side::west, Side::east};

class Halo {
  public:
    /// Collective. neighbours: rank at each side, or -1; edge_cells_max: the longest edge of any
    /// rank.
    Halo(weft::Team team, const std::array<weft::Rank, 4>& neighbours, std::size_t edge_cells_max);

    /// Puts this rank's edges to the neighbours. Steps count from 0.
    void put_edges(const Field& field, std::uint64_t step);
    /// Waits for the neighbours' edges of that step, into the frame.
    void take_edges(const Field& field, std::uint64_t step);

  private:
    struct alignas(64) Signal {  // a line each: neighbours write them at the same time
        std::uint64_t steps;
    };
    static std::size_t box(Side side, std::uint64_t step) {
        return static_cast<std::size_t>(side) * 2 + step % 2;
    }
    [[nodiscard]] std::span<double> cells_of(std::size_t box) const {
        return memory_.as<double>().subspan(box * edge_cells_max_, edge_cells_max_);
    }

    weft::Team team_;
    std::array<weft::Rank, 4> neighbours_;
    std::size_t edge_cells_max_;
    std::vector<double> packed_;
    weft::Memory memory_;
    weft::Memory signal_memory_;
    std::span<Signal> signals_;
};

class EdgeExchange {
  public:
    /// Collective. neighbours: rank at each side, or -1.
    EdgeExchange(weft::Team team, const std::array<weft::Rank, 4>& neighbours, const Area& area);

    void put_edges(const Field& field, std::uint64_t step);
    void take_edges(const Field& field, std::uint64_t step);

  private:
    std::vector<Side> sides_;  ///< that have a neighbour
    weft::Neighbors neighbors_;
    std::vector<double> sent_;
    std::vector<double> received_;
    weft::PersistentRequest request_;
};

}  // namespace apps
