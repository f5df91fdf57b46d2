// SPDX-License-Identifier: BSD-3-Clause
// halo.hpp - exchange of edges between neighbors on a grid of ranks, step after step.
//
// Idea     For each side of its piece a rank has two boxes, for even and for odd steps, each with a
//          signal. A neighbor puts its edge into a box and sets the signal to the number of the
//          step. The rank waits for that number.
// Why      With two boxes the loop needs no barrier. A neighbor puts step t + 2 into the box of
//          step t only after its step t + 1. For that it needed this rank's edge of step t + 1,
//          which this rank put after step t. So this rank has read the box.
// Holds    At most one put into a box is in progress, so its signal can be set instead of added to.
//          The order of puts between two boxes does not matter.
//          EdgeExchange does the same with a persistent call among neighbors.
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
    /// Collective. `neighbours`: rank at each side, or -1. `edge_cells_max`: longest edge
    /// of any rank.
    Halo(weft::Team team, const std::array<weft::Rank, 4>& neighbours, std::size_t edge_cells_max);

    /// Puts this rank's edges to the neighbors. Steps count from 0.
    void put_edges(const Field& field, std::uint64_t step);
    /// Waits for the neighbors' edges of that step, and copies them into the frame.
    void take_edges(const Field& field, std::uint64_t step);

  private:
    struct alignas(64) Signal {  // one cache line each: neighbors write them at the same time
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
    /// Collective. `neighbours`: rank at each side, or -1.
    EdgeExchange(weft::Team team, const std::array<weft::Rank, 4>& neighbours, const Area& area);

    void put_edges(const Field& field, std::uint64_t step);
    void take_edges(const Field& field, std::uint64_t step);

  private:
    std::vector<Side> sides_;  ///< sides with a neighbor
    weft::Neighbors neighbors_;
    std::vector<double> sent_;
    std::vector<double> received_;
    weft::PersistentRequest request_;
};

}  // namespace apps
