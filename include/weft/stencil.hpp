// SPDX-License-Identifier: BSD-3-Clause
// stencil.hpp - exchanges of equal blocks with the neighbors on a grid, including diagonal ones.
//
// Neighbors are the members at fixed offsets: all members in a box around this rank, or only
// members along the axes. There are two methods, or ways. The direct way sends each block to its
// neighbor: 26 messages in a box of three dimensions. The combined way exchanges along one
// dimension after another and joins all blocks for the same distance in that dimension into one
// message: 6 messages, but more bytes. The default is the way with the lower predicted time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/weft.hpp"

namespace weft {

class WEFT_API Stencil {
  public:
    /// Set of neighbors.
    enum class Shape : std::uint8_t {
        box,  ///< members whose coordinates differ by at most `reach`
        star  ///< members of the box that differ in one coordinate only
    };
    enum class Way : std::uint8_t {
        predicted,  ///< the way with the lower predicted time
        direct,
        combined
    };

    /// Makes a stencil. Not collective; arguments are equal on all members. extents: number of
    /// ranks along each dimension of the grid of all members; the last coordinate varies fastest.
    /// periodic: for each dimension, true if its last and first rank are adjacent. reach: largest
    /// difference of a coordinate between neighbors.
    Stencil(Team team, std::span<const Rank> extents, const std::vector<bool>& periodic,
            Shape shape = Shape::box, int reach = 1);
    Stencil(Stencil&& other) noexcept;
    Stencil& operator=(Stencil&& other) noexcept;
    ~Stencil();

    /// Returns the neighbors in the order of their blocks; -1 if a neighbor would be outside the
    /// grid. A box is in lexical order of the offsets, starting with -reach, -reach, ... A star is
    /// ordered by dimension, then by distance, the previous rank before the next rank. On a short
    /// periodic dimension, a member can be a neighbor several times, also this rank itself.
    [[nodiscard]] const std::vector<Rank>& neighbors() const;

    /// Collective. in: a block of count elements for each neighbor; out: a block from each
    /// neighbor. Blocks of missing neighbors are neither read nor written. in and out must not
    /// overlap.
    void alltoall(const void* in, void* out, std::size_t count, Type type);
    /// As alltoall(), but `in` is a single block that all neighbors receive.
    void allgather(const void* in, void* out, std::size_t count, Type type);

    /// Sets the way of later calls; all members must set the same way.
    void set_way(Way way);
    /// Return the way that a call with `count` elements would use. Not collective.
    [[nodiscard]] Way alltoall_way(std::size_t count, Type type);
    [[nodiscard]] Way allgather_way(std::size_t count, Type type);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace weft
