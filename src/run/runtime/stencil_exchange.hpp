// SPDX-License-Identifier: BSD-3-Clause
// stencil_exchange.hpp - exchanges of blocks with the neighbors of a stencil, by whichever way is
// predicted to be quicker.
//
// Idea     Direct: one alltoallv, a message to each neighbor. Combined: an alltoallv for each
//          dimension, in which all blocks that go equally far along it are one message, those that
//          came with earlier dimensions included: the 26 neighbors of a box in three dimensions
//          are served by 6 messages.
// Why      Messages between two ranks whose counts both know are what the runtime has; what is
//          packed and unpacked in between is short where combining pays.
// Holds    The same on all members: grid, offsets, count, type and way, so the choice needs no
//          communication. Where a grid is so narrow that a rank is a neighbor several times, blocks
//          between two ranks go together in the order of the sender's offsets.
// Next     collectives/neighborhood for the same as programs, with their proofs; by these the ways
//          are predicted; decision 7.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/neighborhood/exchange.hpp"
#include "run/runtime/team.hpp"

namespace weft::run {

/// The box (star) around each rank of a grid of so many. Fails where there is none.
[[nodiscard]] base::Result<collectives::Stencil> grid_stencil(Rank ranks, std::vector<Rank> extents,
                                                              std::vector<bool> periodic, bool star,
                                                              int reach);

/// The way that is predicted to be quicker for blocks of so many bytes: by the programs that do the
/// same. On more ranks than are predicted, directly.
[[nodiscard]] base::Result<collectives::NeighborWay> quicker_way(
    const plan::Machine& machine, const collectives::Stencil& stencil,
    collectives::NeighborData data, std::uint64_t block_bytes);

class StencilExchange {
  public:
    using Data = collectives::NeighborData;
    using Way = collectives::NeighborWay;

    /// The grid has a rank for each member; the team outlives this.
    StencilExchange(Team& team, collectives::Stencil stencil);

    /// A block of `count` elements from each neighbor, in the order of the offsets: in place of one
    /// that is missing nothing is written. Collective.
    [[nodiscard]] base::Result<void> run(Data data, const void* in, void* out, std::size_t count,
                                         Type type);
    /// None: what is predicted to be quicker.
    void force(std::optional<Way> way) { forced_ = way; }
    /// The way of such a call.
    [[nodiscard]] base::Result<Way> way_of(Data data, std::size_t count, Type type);

    [[nodiscard]] const collectives::Stencil& stencil() const { return stencil_; }
    /// By block: the member at that offset, or kNoRank.
    [[nodiscard]] const std::vector<Rank>& neighbors() const { return neighbors_; }

  private:
    /// A block that goes to a peer, or comes from it: its number before the phase and after it.
    struct Hop {
        Rank peer = 0;
        std::int64_t part = 0;
        std::uint32_t before = 0;
        std::uint32_t after = 0;
    };
    /// Of one dimension.
    struct Phase {
        std::vector<Hop> sent;
        std::vector<Hop> received;
        std::vector<std::pair<std::uint32_t, std::uint32_t>> kept;  ///< before and after
    };
    /// What this rank does, whatever the call's counts.
    struct Route {
        std::vector<Phase> phases;
        std::vector<std::uint32_t> last;  ///< by offset: the number of its block in the end
        bool apart = true;                ///< in the first phase, no rank gets two blocks
    };
    struct Blocks;

    [[nodiscard]] Route route_of(Data data, Way way) const;
    [[nodiscard]] Phase phase_of(Data data, std::size_t first, std::size_t end) const;
    [[nodiscard]] std::vector<std::uint32_t> numbers(Data data, std::size_t dimension) const;
    [[nodiscard]] bool is_needed(std::uint32_t offset, std::size_t come) const;
    [[nodiscard]] Rank ahead(const collectives::Coordinates& offset, std::size_t first,
                             std::size_t end, int direction) const;
    [[nodiscard]] base::Result<void> pass(const Phase& phase, Blocks& blocks);
    [[nodiscard]] base::Result<void> run_apart(Data data, const Route& route, const void* in,
                                               void* out, const Blocks& blocks);
    [[nodiscard]] base::Result<Way> choose(Data data, std::uint64_t block_bytes);

    Team& team_;
    collectives::Stencil stencil_;
    collectives::Coordinates here_;
    std::vector<Rank> neighbors_;
    std::optional<Way> forced_;
    std::array<std::array<Route, 2>, 2> routes_;  ///< by data, then way
    std::map<std::pair<Data, std::uint64_t>, Way> chosen_;
};

}  // namespace weft::run
