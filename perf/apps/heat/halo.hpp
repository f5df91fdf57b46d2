// SPDX-License-Identifier: BSD-3-Clause
// halo.hpp - exchange of edges between neighbors on a grid of ranks, step after step.
//
// Idea     For each side of its piece a rank has two buffers, for even and for odd steps, each with
//          a signal. A neighbor puts its edge of step t into a buffer and sets the signal to
//          t + 1, because 0 means that no edge has arrived. The rank waits for that value.
// Why      With two buffers the loop needs no barrier. A neighbor puts the edge of step t + 2 into
//          the buffer of step t only after its step t + 1. That step needed this rank's edge, which
//          this rank put after it had read the buffer in step t.
// Holds    At most one put into a buffer is in progress, so its signal is set, not added to.
//          EdgeExchange exchanges the same edges by a persistent call of weft/neighbors.hpp.
// Next     heat.cpp for the loop; docs/guide/programming.md.
#pragma once

#include <array>
#include <cstdint>
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
    /// Collective. `neighbor_at`: rank at each side, or -1 if there is no neighbor.
    /// `edge_cells_max`: number of cells of the longest edge of any rank.
    Halo(weft::Team team, const std::array<weft::Rank, 4>& neighbor_at, std::size_t edge_cells_max);

    /// Puts this rank's edges to the neighbors. Steps count from 0.
    void send_edges(const Field& field, std::uint64_t step);
    /// Waits for the neighbors' edges of that step, and copies them into the frame of `field`.
    void receive_edges(const Field& field, std::uint64_t step);

  private:
    struct alignas(64) Signal {  // one cache line each: neighbors write them at the same time
        std::uint64_t steps;
    };
    /// Returns the index of a buffer and of its signal.
    static std::size_t buffer_of(Side side, std::uint64_t step) {
        return static_cast<std::size_t>(side) * 2 + step % 2;
    }
    [[nodiscard]] std::span<double> cells_of(std::size_t buffer) const {
        return memory_.as<double>().subspan(buffer * edge_cells_max_, edge_cells_max_);
    }

    weft::Team team_;
    std::array<weft::Rank, 4> neighbor_at_;
    std::size_t edge_cells_max_;
    std::vector<double> packed_;  ///< source of a put: one edge
    weft::Memory memory_;         ///< symmetric: the buffers
    weft::Memory signal_memory_;
    std::span<Signal> signals_;
};

/// Exchanges edges like Halo, by a persistent neighborhood call instead of puts.
class EdgeExchange {
  public:
    /// Collective. `neighbor_at`: rank at each side, or -1 if there is no neighbor.
    EdgeExchange(weft::Team team, const std::array<weft::Rank, 4>& neighbor_at, const Area& area);

    void send_edges(const Field& field, std::uint64_t step);
    void receive_edges(const Field& field, std::uint64_t step);

  private:
    std::vector<Side> sides_;  ///< sides with a neighbor
    weft::Neighbors neighbors_;
    std::vector<double> sent_;
    std::vector<double> received_;
    weft::PersistentRequest request_;
};

}  // namespace apps
