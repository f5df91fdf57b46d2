// SPDX-License-Identifier: BSD-3-Clause
// stencil_exchange.hpp - exchanges of blocks with the neighbors of a stencil, by the method that is
// predicted to be faster.
//
// Idea     The generator of collectives/neighborhood makes the program of a call: direct, with a
//          message to each neighbor, or combined, one dimension after another. The team keeps the
//          plan, so a call that repeats an earlier one only looks it up.
// Holds    Grid, offsets, count, type and method are equal on all members, so the choice needs no
//          communication.
// Next     plan_cache.hpp for plans; collectives/neighborhood/exchange.hpp for the programs.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/neighborhood/exchange.hpp"
#include "run/team/team.hpp"

namespace weft::run {

/// Returns the box, or star, around each rank of a grid with `ranks` ranks. Fails if the arguments
/// do not fit.
[[nodiscard]] base::Result<collectives::Stencil> grid_stencil(Rank ranks, std::vector<Rank> extents,
                                                              std::vector<bool> periodic, bool star,
                                                              int reach);

/// Returns the method with the lower predicted time for blocks of this size. Returns direct if
/// there are too many ranks for a prediction.
[[nodiscard]] base::Result<collectives::NeighborWay> quicker_way(
    const plan::Machine& machine, const collectives::Stencil& stencil,
    collectives::NeighborData data, std::uint64_t block_bytes);

class StencilExchange {
  public:
    using Data = collectives::NeighborData;
    using Way = collectives::NeighborWay;

    /// The grid has a rank for each member. The team must outlive this object.
    StencilExchange(Team& team, collectives::Stencil stencil);

    /// Receives a block of `count` elements from each neighbor, in the order of the offsets. Writes
    /// nothing for a missing neighbor. Collective.
    [[nodiscard]] base::Result<void> run(Data data, const void* in, void* out, std::size_t count,
                                         Type type);
    /// Forces a method. Without one, the predicted method is used.
    void force(std::optional<Way> way) { forced_ = way; }
    /// Returns the method of such a call.
    [[nodiscard]] base::Result<Way> way_of(Data data, std::size_t count, Type type);

    /// Returns, for each block, the member at that offset, or kNoRank.
    [[nodiscard]] const std::vector<Rank>& neighbors() const { return neighbors_; }

  private:
    [[nodiscard]] base::Result<Way> choose(Data data, std::uint64_t block_bytes);

    Team& team_;
    std::shared_ptr<const collectives::Stencil> stencil_;
    std::vector<Rank> neighbors_;
    std::optional<Way> forced_;
    std::map<std::pair<Data, std::uint64_t>, Way> chosen_;
};

}  // namespace weft::run
