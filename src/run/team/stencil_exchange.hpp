// SPDX-License-Identifier: BSD-3-Clause
// stencil_exchange.hpp - exchanges blocks with the neighbors of a stencil.
//
// Idea     The generator in collectives/neighborhood has two methods. *Direct* sends a message to
//          each neighbor. *Combined* exchanges larger messages in one dimension after another. A
//          call uses the method with the lower predicted time, and the team caches its plan.
// Holds    All arguments are equal on all members, so the choice needs no communication.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "collectives/neighborhood/exchange.hpp"
#include "run/team/team.hpp"

namespace weft::run {

/// Fails unless all extents are positive and their product is `ranks`.
[[nodiscard]] base::Result<void> check_extents(Rank ranks, std::span<const Rank> extents);

/// Returns the stencil of all ranks within `reach`, along the dimensions (`star`) or in a box.
/// Fails unless the grid has `ranks` ranks, 1 to 8 dimensions, and a reach of 1 to 8.
[[nodiscard]] base::Result<collectives::Stencil> grid_stencil(Rank ranks, std::vector<Rank> extents,
                                                              std::vector<bool> periodic, bool star,
                                                              int reach);

/// Returns the method with the lower predicted time for blocks of this size.
[[nodiscard]] base::Result<collectives::NeighborWay> quicker_way(
    const plan::Machine& machine, const collectives::Stencil& stencil,
    collectives::NeighborData data, std::uint64_t block_bytes);

class StencilExchange {
  public:
    using Data = collectives::NeighborData;
    using Way = collectives::NeighborWay;

    /// The grid must have a rank for each member of the team. The team must outlive this object.
    StencilExchange(Team& team, collectives::Stencil stencil);

    /// Sends a block of `count` elements to each neighbor, and receives one from each into `out`,
    /// in the order of the offsets. The block of a missing neighbor is not written. Collective.
    [[nodiscard]] base::Result<void> run(Data data, const void* in, void* out, std::size_t count,
                                         Type type);
    /// Forces a method, or restores the predicted method if `way` is empty.
    void force(std::optional<Way> way) { forced_ = way; }
    [[nodiscard]] base::Result<Way> way_of(Data data, std::size_t count, Type type);

    /// Returns the team rank of each block's neighbor, or plan::kNoRank beyond the grid.
    [[nodiscard]] const std::vector<Rank>& neighbors() const { return neighbors_; }

  private:
    [[nodiscard]] base::Result<Way> choose(Data data, std::uint64_t block_bytes);

    Team& team_;
    std::shared_ptr<const collectives::Stencil> stencil_;
    std::vector<Rank> neighbors_;
    std::optional<Way> forced_;  ///< empty: predicted method
    /// Predicted methods, by data and block size in bytes, rounded up to a power of two.
    std::map<std::pair<Data, std::uint64_t>, Way> chosen_;
};

}  // namespace weft::run
