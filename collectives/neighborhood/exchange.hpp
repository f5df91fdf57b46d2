// SPDX-License-Identifier: BSD-3-Clause
// exchange.hpp - neighborhood collectives of a stencil: each rank receives a block
// from each neighbor.
//
// Idea     Direct: a message to each neighbor, which a local peer may read in place. Combined: one
//          dimension after another. In the round of a dimension, one message moves all blocks whose
//          offsets have the same part in it, blocks from earlier rounds included. So 6 messages
//          serve the 26 neighbors of a box in three dimensions.
//          The direct method is one round for all dimensions. In a narrow periodic grid, several
//          offsets lead to the same rank, and their blocks are one message.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, problem 4; Traeff et al.,
//          Isomorphic, sparse MPI-like collective communication operations.
// Rounds   Direct: 1. Combined: one for each dimension. Messages of a rank: direct, one for each
//          neighbor; combined, one for each nonzero value of each part of the offsets.
// Bytes    Direct: each block once. Combined: once for each nonzero part of its offset. For
//          neighbor_allgather, offsets that begin with the same parts share a block.
// Memory   A slot for each message; combined: scratch for blocks between rounds.
// Good for Combined: short blocks and many neighbors.
// Holds    Not synchronizing. The buffer has a block for each offset. A block of the output without
//          a neighbor is not written. An allgather reads only the first block. Input and output
//          must be separate. Blocks may differ in size if opposite blocks have equal sizes
//          (Program::set_counts). Neighbors are at the same offsets for all ranks of a Cartesian
//          grid. The last coordinate of consecutive ranks changes fastest, as in MPI.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "plan/schedule/contract.hpp"
#include "plan/schedule/program.hpp"

namespace weft::collectives {

/// One number for each dimension.
using Coordinates = std::vector<std::int64_t>;

class Grid {
  public:
    /// `periodic`: for each dimension, true if the last rank is next to the first one.
    Grid(std::vector<Rank> extents, std::vector<bool> periodic)
        : extents_(std::move(extents)), periodic_(std::move(periodic)) {}

    [[nodiscard]] std::size_t dimensions() const { return extents_.size(); }
    [[nodiscard]] const std::vector<Rank>& extents() const { return extents_; }
    [[nodiscard]] const std::vector<bool>& periodic() const { return periodic_; }
    [[nodiscard]] std::int64_t ranks() const;
    [[nodiscard]] Coordinates coordinates_of(Rank rank) const;
    /// Returns the rank at these coordinates, or kNoRank outside the grid.
    [[nodiscard]] Rank rank_at(const Coordinates& coordinates) const;
    [[nodiscard]] bool is_valid() const;
    /// Returns equal offsets for offsets that lead to the same rank, 0 for the rank itself, and
    /// nothing if the offset leads outside the grid from all ranks.
    [[nodiscard]] std::optional<Coordinates> reduced(Coordinates offset) const;

  private:
    std::vector<Rank> extents_;
    std::vector<bool> periodic_;
};

/// A list of offsets with the opposite of each, so that neighbors are mutual. Neighbor i of a rank
/// is the rank at its coordinates plus offset i; no rank if these are outside the grid.
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

/// Returns all offsets except 0 whose parts are -reach .. reach, in lexicographic order.
[[nodiscard]] std::vector<Coordinates> box_offsets(int dimensions, int reach);
/// Returns the box offsets along an axis, in the order of MPI's Cartesian communicators: dimension
/// by dimension, the nearest first, -1 before +1.
[[nodiscard]] std::vector<Coordinates> star_offsets(int dimensions, int reach);

enum class NeighborData : std::uint8_t {
    same,  ///< all neighbors receive the same block: neighbor_allgather
    own,   ///< each neighbor receives its own block: neighbor_alltoall
};
enum class NeighborWay : std::uint8_t { direct, combined };

struct NeighborRequest {
    const Stencil* stencil = nullptr;
    NeighborData data = NeighborData::own;
    NeighborWay way = NeighborWay::direct;
    Rank rank = 0;
    std::uint32_t segments = 1;  ///< pieces that each block is cut into
    std::uint64_t elements = 0;  ///< sum over all blocks
    /// By peer: true if direct messages are read in place; equal on sender and receiver. Either
    /// every rank has an entry that is false, or no rank has. nullptr: no message is read in place.
    const std::vector<bool>* mapped = nullptr;
};

/// Returns the program of the request's rank.
[[nodiscard]] plan::Program generate_neighbors(const NeighborRequest& request);

/// Returns the requirements on the programs of all ranks: block i of the output is neighbor i's
/// block for this rank. The stencil must outlive the contract.
[[nodiscard]] plan::Contract neighbor_contract(const Stencil& stencil, NeighborData data);

}  // namespace weft::collectives
