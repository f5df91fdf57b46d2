// SPDX-License-Identifier: BSD-3-Clause
// stencil.hpp - ranks in a Cartesian grid, and the neighbors that each has at the same distances.
//
// Idea     A stencil is a list of offsets; a rank's neighbor i is the rank at its own coordinates
//          plus offset i, or none where the grid ends.
// Holds    Ranks are numbered with the last coordinate running quickest, as in MPI. With an offset
//          a stencil has its opposite: who is a neighbor has the other one as a neighbor.
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
    /// periodic: by dimension, whether the last rank is next to the first one.
    Grid(std::vector<Rank> extents, std::vector<bool> periodic)
        : extents_(std::move(extents)), periodic_(std::move(periodic)) {}

    [[nodiscard]] std::size_t dimensions() const { return extents_.size(); }
    [[nodiscard]] std::int64_t ranks() const;
    [[nodiscard]] Coordinates coordinates_of(Rank rank) const;
    /// The rank at these coordinates; kNoRank outside of the grid.
    [[nodiscard]] Rank rank_at(const Coordinates& coordinates) const;
    [[nodiscard]] bool is_valid() const;

  private:
    std::vector<Rank> extents_;
    std::vector<bool> periodic_;
};

class Stencil {
  public:
    /// Fails for offsets of other dimensions than the grid's, repeated ones and those without their
    /// opposite.
    [[nodiscard]] static base::Result<Stencil> make(Grid grid, std::vector<Coordinates> offsets);

    [[nodiscard]] const Grid& grid() const { return grid_; }
    [[nodiscard]] const std::vector<Coordinates>& offsets() const { return offsets_; }
    /// The number of the offset that leads back.
    [[nodiscard]] std::uint32_t opposite(std::uint32_t index) const { return opposite_[index]; }
    /// kNoRank where the grid ends.
    [[nodiscard]] Rank neighbor(Rank rank, std::uint32_t index) const;

  private:
    Stencil(Grid grid, std::vector<Coordinates> offsets)
        : grid_(std::move(grid)), offsets_(std::move(offsets)) {}

    Grid grid_;
    std::vector<Coordinates> offsets_;
    std::vector<std::uint32_t> opposite_;
};

/// All offsets but 0 of so many dimensions whose parts are -reach .. reach; in lexical order.
[[nodiscard]] std::vector<Coordinates> box_offsets(int dimensions, int reach);
/// Those of them along an axis, in MPI's order of a Cartesian communicator: dimension after
/// dimension, before and behind; of a longer reach, the nearest first.
[[nodiscard]] std::vector<Coordinates> star_offsets(int dimensions, int reach);

}  // namespace weft::collectives
