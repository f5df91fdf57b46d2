// SPDX-License-Identifier: BSD-3-Clause
// stencil.hpp - ranks in a Cartesian grid, with neighbors at the same offsets for all ranks.
//
// Idea     A stencil is a list of offsets. Neighbor i of a rank is the rank at its coordinates plus
//          offset i. It has no such neighbor if that is outside the grid.
// Holds    The last coordinate of consecutive ranks changes fastest, as in MPI. A stencil has the
//          opposite of each of its offsets, so neighbors are mutual.
// Next     exchange.hpp for the programs.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "plan/schedule/block.hpp"

namespace weft::collectives {

/// One number for each dimension.
using Coordinates = std::vector<std::int64_t>;

class Grid {
  public:
    /// `periodic`: for each dimension, true if the last rank is next to the first one.
    Grid(std::vector<Rank> extents, std::vector<bool> periodic)
        : extents_(std::move(extents)), periodic_(std::move(periodic)) {}

    [[nodiscard]] std::size_t dimensions() const { return extents_.size(); }
    [[nodiscard]] std::int64_t ranks() const;
    [[nodiscard]] Coordinates coordinates_of(Rank rank) const;
    /// Returns the rank at these coordinates, or kNoRank outside the grid.
    [[nodiscard]] Rank rank_at(const Coordinates& coordinates) const;
    [[nodiscard]] bool is_valid() const;

  private:
    std::vector<Rank> extents_;
    std::vector<bool> periodic_;
};

class Stencil {
  public:
    /// Fails if an offset has other dimensions than the grid, is repeated, or lacks its opposite.
    [[nodiscard]] static base::Result<Stencil> make(Grid grid, std::vector<Coordinates> offsets);

    [[nodiscard]] const Grid& grid() const { return grid_; }
    [[nodiscard]] const std::vector<Coordinates>& offsets() const { return offsets_; }
    /// Returns the index of the opposite offset.
    [[nodiscard]] std::uint32_t opposite(std::uint32_t index) const { return opposite_[index]; }
    /// Returns kNoRank outside the grid.
    [[nodiscard]] Rank neighbor(Rank rank, std::uint32_t index) const;

  private:
    Stencil(Grid grid, std::vector<Coordinates> offsets)
        : grid_(std::move(grid)), offsets_(std::move(offsets)) {}

    Grid grid_;
    std::vector<Coordinates> offsets_;
    std::vector<std::uint32_t> opposite_;
};

/// Returns all offsets except 0 whose parts are -reach .. reach, in lexical order.
[[nodiscard]] std::vector<Coordinates> box_offsets(int dimensions, int reach);
/// Returns the offsets of them along an axis, in MPI's order of a Cartesian communicator: dimension
/// by dimension, before and behind, the nearest first.
[[nodiscard]] std::vector<Coordinates> star_offsets(int dimensions, int reach);

}  // namespace weft::collectives
