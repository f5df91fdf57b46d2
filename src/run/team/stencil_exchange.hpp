// SPDX-License-Identifier: BSD-3-Clause
// stencil_exchange.hpp - exchanges of blocks with the neighbors of a stencil, by the method that is
// predicted to be faster.
//
// Idea     Two methods:
//          - Direct: one alltoallv, with a message to each neighbor.
//          - Combined: an alltoallv for each dimension. All blocks with the same distance along it
//            are one message, including blocks from earlier dimensions. So 6 messages serve the 26
//            neighbors of a box in three dimensions.
// Why      The runtime already has messages whose counts both ranks know. Packing between the
//          phases is short where combining pays.
// Holds    Grid, offsets, count, type and method are equal on all members, so the choice needs no
//          communication. In a narrow grid, a rank may be a neighbor several times. Its blocks are
//          then in the order of the sender's offsets.
// Next     collectives/neighborhood for the equivalent programs and their proofs, by which the
//          times are predicted; decision 7.
#pragma once

#include <array>
#include <cstddef>
#include <map>
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

/// Returns the faster method for blocks of this size, predicted from equivalent programs. Returns
/// direct if there are too many ranks for a prediction.
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

    [[nodiscard]] const collectives::Stencil& stencil() const { return stencil_; }
    /// Returns, for each block, the member at that offset, or kNoRank.
    [[nodiscard]] const std::vector<Rank>& neighbors() const { return neighbors_; }

  private:
    /// A block that is sent to a peer or received from it, with its numbers before and
    /// after the phase.
    struct Hop {
        Rank peer = 0;
        std::int64_t part = 0;
        std::uint32_t before = 0;
        std::uint32_t after = 0;
    };
    /// Messages of one phase.
    struct Phase {
        std::vector<Hop> sent;
        std::vector<Hop> received;
        std::vector<std::pair<std::uint32_t, std::uint32_t>> kept;  ///< numbers before and after
    };
    /// Phases of this rank, for any counts.
    struct Route {
        std::vector<Phase> phases;
        std::vector<std::uint32_t> last;  ///< by offset: final number of its block
        bool apart = true;                ///< no rank gets two blocks in the first phase
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
    std::array<std::array<Route, 2>, 2> routes_;  ///< by data, then method
    std::map<std::pair<Data, std::uint64_t>, Way> chosen_;
};

}  // namespace weft::run
