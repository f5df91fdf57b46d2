// SPDX-License-Identifier: BSD-3-Clause
// stencil.hpp - exchanges blocks of equal size with all members up to a distance on a grid.
//
// Next     neighbors.h for the direct and the combined method, and their source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/weft.hpp"

namespace weft {

/// Exchanges with the neighbors at the same offsets from each member. A moved-from object may only
/// be destroyed or assigned to. The calls follow the thread rules of Team.
class WEFT_API Stencil {
  public:
    /// Set of neighbors.
    enum class Shape : std::uint8_t {
        box,  ///< members whose coordinates differ by at most `reach`
        star  ///< members of the box that differ in one coordinate only
    };
    /// Method of a call.
    enum class Way : std::uint8_t {
        predicted,  ///< default: the method with the lower predicted time for each call
        direct,
        combined
    };

    /// Makes a stencil. Not collective; arguments are equal on all members. extents: ranks along
    /// each of 1 to 8 dimensions of the grid of all members, whose last coordinate varies fastest.
    /// periodic: for each dimension, true if its last and first rank are adjacent. reach: largest
    /// difference of a coordinate between neighbors, 1 to 8. A box may have at most 10,000
    /// offsets, the zero offset included.
    Stencil(Team team, std::span<const Rank> extents, const std::vector<bool>& periodic,
            Shape shape = Shape::box, int reach = 1);
    Stencil(Stencil&& other) noexcept;
    Stencil& operator=(Stencil&& other) noexcept;
    ~Stencil();

    /// Returns the neighbors in the order of their blocks (weft_stencil_create()); -1 if a neighbor
    /// would be outside the grid. In a periodic dimension of up to 2 * reach ranks, a member is a
    /// neighbor several times, and this rank can be its own neighbor.
    [[nodiscard]] const std::vector<Rank>& neighbors() const;

    /// Collective. in: a block of count elements for each neighbor; out: a block from each
    /// neighbor. Blocks of neighbors outside the grid are neither read nor written. in and out must
    /// not overlap.
    void alltoall(const void* in, void* out, std::size_t count, Type type);
    /// As alltoall(), but `in` is a single block that all neighbors receive.
    void allgather(const void* in, void* out, std::size_t count, Type type);

    /// Sets the method of later calls; all members must set the same method.
    void set_way(Way way);
    /// Return the method that a call with `count` elements would use. Not collective.
    [[nodiscard]] Way alltoall_way(std::size_t count, Type type);
    [[nodiscard]] Way allgather_way(std::size_t count, Type type);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace weft
