// SPDX-License-Identifier: BSD-3-Clause
// neighbors.hpp - calls that exchange blocks between neighbors.
//
// Each member lists its own neighbors, in a directed graph or a Cartesian grid. A neighbor call is
// a Call for Team::run(), start() and prepare(), with the rules of neighbors.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/call.hpp"
#include "weft/error.hpp"

namespace weft {

/// Neighbors of one rank, and calls that exchange blocks with them. One thread at a time may use an
/// object.
class Neighbors {
  public:
    /// members: size of the team. sources: ranks that send a block to this rank; destinations:
    /// ranks that receive a block from this rank; both in the order of the blocks. Each list names
    /// a member at most once, and may name this rank; otherwise throws an Error. Rank a must name b
    /// as a destination if and only if b names a as a source.
    Neighbors(Rank members, std::vector<Rank> sources, std::vector<Rank> destinations)
        : in_(members, std::move(destinations), "destinations"),
          out_(members, std::move(sources), "sources") {}

    /// Returns the neighbors of a rank on a grid whose last coordinate varies fastest. extents:
    /// ranks along each dimension; their product is the size of the team. Lists neighbors as
    /// weft_neighbors_on_grid() does.
    [[nodiscard]] static Neighbors on_grid(std::span<const Rank> extents,
                                           const std::vector<bool>& periodic, Rank rank);

    [[nodiscard]] std::span<const Rank> sources() const { return out_.ranks; }
    [[nodiscard]] std::span<const Rank> destinations() const { return in_.ranks; }

    // A Call refers to arrays of this object, which the next Call overwrites. So pass each Call to
    // run(), start() or prepare() before making the next one.

    /// in: a block of count elements for each destination; out: a block from each source.
    [[nodiscard]] Call alltoall(const void* in, void* out, std::size_t count, Type type) {
        in_.set_equal(count, count);
        out_.set_equal(count, count);
        return call(in, out, type);
    }
    /// in: a block of count elements, sent to all destinations; out: a block from each source.
    [[nodiscard]] Call allgather(const void* in, void* out, std::size_t count, Type type) {
        in_.set_equal(count, 0);
        out_.set_equal(count, count);
        return call(in, out, type);
    }
    /// in_blocks: a block for each destination; out_blocks: a block from each source. Throws an
    /// Error for other numbers of blocks.
    [[nodiscard]] Call alltoallv(const void* in, Blocks in_blocks, void* out, Blocks out_blocks,
                                 Type type) {
        in_.set_blocks(in_blocks, "in");
        out_.set_blocks(out_blocks, "out");
        return call(in, out, type);
    }
    /// in: count elements, sent to all destinations; out_blocks: a block from each source.
    [[nodiscard]] Call allgatherv(const void* in, std::size_t count, void* out, Blocks out_blocks,
                                  Type type) {
        in_.set_equal(count, 0);
        out_.set_blocks(out_blocks, "out");
        return call(in, out, type);
    }

  private:
    /// Blocks that this rank sends, or blocks that it receives.
    struct Side {
        /// what: name of the argument `neighbors`, for Errors.
        Side(Rank members, std::vector<Rank> neighbors, const char* what)
            : ranks(std::move(neighbors)),
              counts(static_cast<std::size_t>(std::max(members, 0))),
              displacements(counts.size()) {
            for (const Rank rank : ranks) {
                if (rank < 0 || rank >= members)
                    throw Error(Status::argument, std::string(what) + ": " + std::to_string(rank) +
                                                      " is not a member of the team, expected 0.." +
                                                      std::to_string(members - 1));
                if (++counts[static_cast<std::size_t>(rank)] > 1)
                    throw Error(Status::argument, std::string(what) + ": " + std::to_string(rank) +
                                                      " is named twice");
            }
        }
        void set(std::size_t block, std::size_t count, std::size_t displacement) {
            const auto member = static_cast<std::size_t>(ranks[block]);
            counts[member] = count;
            displacements[member] = displacement;
        }
        /// Sets blocks of `count` elements. Block i starts at element i * stride.
        void set_equal(std::size_t count, std::size_t stride) {
            for (std::size_t i = 0; i < ranks.size(); ++i) set(i, count, i * stride);
        }
        /// Sets the given blocks, one for each neighbor. what: name of the argument, for the Error.
        void set_blocks(const Blocks& blocks, const char* what) {
            if (blocks.counts.size() != ranks.size() ||
                (!blocks.displacements.empty() && blocks.displacements.size() != ranks.size()))
                throw Error(Status::argument, std::string(what) +
                                                  ": expected a block for each of " +
                                                  std::to_string(ranks.size()) + " neighbors");
            std::size_t next = 0;
            for (std::size_t i = 0; i < ranks.size(); ++i) {
                set(i, blocks.counts[i],
                    blocks.displacements.empty() ? next : blocks.displacements[i]);
                next += blocks.counts[i];
            }
        }
        [[nodiscard]] Blocks blocks() const { return {counts, displacements}; }

        std::vector<Rank> ranks;                 ///< neighbors, in the order of the blocks
        std::vector<std::size_t> counts;         ///< by member; 0 if the member is no neighbor
        std::vector<std::size_t> displacements;  ///< by member
    };

    [[nodiscard]] Call call(const void* in, void* out, Type type) const {
        return Call::alltoallv(in, in_.blocks(), out, out_.blocks(), type);
    }

    Side in_;   ///< blocks for destinations
    Side out_;  ///< blocks from sources
};

inline Neighbors Neighbors::on_grid(std::span<const Rank> extents,
                                    const std::vector<bool>& periodic, Rank rank) {
    if (extents.empty() || periodic.size() != extents.size() || std::ranges::min(extents) < 1)
        throw Error(Status::argument,
                    "grid: expected extents of 1 or more, and a value of `periodic` for each");
    Rank members = 1;
    for (const Rank extent : extents) members *= extent;
    std::vector<Rank> neighbors;
    Rank stride = members;  // difference of adjacent ranks along a dimension
    for (std::size_t i = 0; i < extents.size(); ++i) {
        stride /= extents[i];
        const Rank coordinate = rank / stride % extents[i];
        for (const Rank step : {-1, 1}) {
            Rank next = coordinate + step;
            if (periodic[i]) next = (next + extents[i]) % extents[i];
            if (next < 0 || next >= extents[i]) continue;
            const Rank neighbor = rank + (next - coordinate) * stride;
            if (std::ranges::find(neighbors, neighbor) == neighbors.end())
                neighbors.push_back(neighbor);
        }
    }
    return {members, neighbors, neighbors};
}

}  // namespace weft
