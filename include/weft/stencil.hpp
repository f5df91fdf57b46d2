// SPDX-License-Identifier: BSD-3-Clause
// stencil.hpp - exchanges of equal blocks with the neighbors on a grid, those across corners too.
//
// Neighbors are the members at the same offsets from each: all of a box around it, or those along
// the axes. A block can go straight to each neighbor (26 messages in a box of three dimensions), or
// dimension after dimension, where all that goes equally far is one message (6 of them): fewer
// messages, more bytes. Which of the two is predicted to be quicker is chosen, for each size.
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
    /// Which members around one are its neighbors.
    enum class Shape : std::uint8_t {
        box,  ///< all whose coordinates differ by `reach` at most
        star  ///< those of them that differ in one coordinate only
    };
    enum class Way : std::uint8_t {
        predicted,  ///< the quicker one, as far as is known
        direct,
        combined
    };

    /// Not collective; the same on all members. extents: ranks along each dimension of the grid,
    /// of all members together; the last coordinate runs quickest. periodic: by dimension, whether
    /// the last rank is next to the first.
    Stencil(Team team, std::span<const Rank> extents, const std::vector<bool>& periodic,
            Shape shape = Shape::box, int reach = 1);
    Stencil(Stencil&& other) noexcept;
    Stencil& operator=(Stencil&& other) noexcept;
    ~Stencil();

    /// In the order of the blocks: -1 where the grid ends. A box: in lexical order of the offsets,
    /// from -reach, -reach, ... on; a star: dimension after dimension, the nearest first, the one
    /// before this rank before the one after it. On a short periodic dimension a member can be a
    /// neighbor several times, and this rank its own.
    [[nodiscard]] const std::vector<Rank>& neighbors() const;

    /// Collective: in: a block of count elements for each neighbor; out: one from each. In place of
    /// a neighbor that is missing, nothing is read or written. in and out are separate.
    void alltoall(const void* in, void* out, std::size_t count, Type type);
    /// The same with one block for all neighbors.
    void allgather(const void* in, void* out, std::size_t count, Type type);

    /// The same on all members: for calls from now on.
    void set_way(Way way);
    /// Of a call with so many elements. Not collective.
    [[nodiscard]] Way alltoall_way(std::size_t count, Type type);
    [[nodiscard]] Way allgather_way(std::size_t count, Type type);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace weft
