// SPDX-License-Identifier: BSD-3-Clause
// neighbors.hpp - calls in which each member exchanges blocks with its neighbors alone.
//
// Neighbors are those of a directed graph, or of a Cartesian grid; every member names its own. A
// call of them is a Call, for Team::run(), start() and prepare(); all members of the team make it,
// also those without neighbors. Messages go straight from rank to rank, so a member talks to its
// neighbors only. It is an alltoallv in all but its arrays: a call of Neighbors can be mixed with
// alltoallv() on other members.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/call.hpp"
#include "weft/error.hpp"

namespace weft {

class Neighbors {
  public:
    /// members: of the team. sources: whom this rank gets a block from; destinations: whom it sends
    /// one to; in the order of the blocks. A member is named once at most in each, and may be this
    /// rank. If a names b as a destination, b names a as a source.
    Neighbors(Rank members, std::vector<Rank> sources, std::vector<Rank> destinations)
        : in_(members, std::move(destinations), "destinations"),
          out_(members, std::move(sources), "sources") {}

    /// On a grid whose last coordinate runs quickest: for each dimension the neighbor before and
    /// the one after it, where there is one, each both a source and a destination. Where a closed
    /// dimension is so short that both are the same rank, or this one itself, that rank is named
    /// once.
    [[nodiscard]] static Neighbors on_grid(std::span<const Rank> extents,
                                           const std::vector<bool>& periodic, Rank rank);

    [[nodiscard]] std::span<const Rank> sources() const { return out_.ranks; }
    [[nodiscard]] std::span<const Rank> destinations() const { return in_.ranks; }

    // A call refers to arrays of this object: run(), start() or prepare() it before the next one is
    // made.

    /// in: a block of count elements for each destination; out: one from each source.
    [[nodiscard]] Call alltoall(const void* in, void* out, std::size_t count, Type type) {
        in_.spread(count, count);
        out_.spread(count, count);
        return call(in, out, type);
    }
    /// in: one block, for all destinations; out: one from each source.
    [[nodiscard]] Call allgather(const void* in, void* out, std::size_t count, Type type) {
        in_.spread(count, 0);
        out_.spread(count, count);
        return call(in, out, type);
    }
    /// in_blocks: what goes to each destination; out_blocks: what comes from each source.
    [[nodiscard]] Call alltoallv(const void* in, Blocks in_blocks, void* out, Blocks out_blocks,
                                 Type type) {
        in_.place(in_blocks, "in");
        out_.place(out_blocks, "out");
        return call(in, out, type);
    }
    /// in: count elements, for all destinations; out_blocks: what comes from each source.
    [[nodiscard]] Call allgatherv(const void* in, std::size_t count, void* out, Blocks out_blocks,
                                  Type type) {
        in_.spread(count, 0);
        out_.place(out_blocks, "out");
        return call(in, out, type);
    }

  private:
    /// What is sent, or received: blocks by neighbor, and the same by member.
    struct Side {
        Side(Rank members, std::vector<Rank> named, const char* what)
            : ranks(std::move(named)),
              counts(static_cast<std::size_t>(members < 0 ? 0 : members)),
              displacements(counts.size()) {
            for (const Rank rank : ranks) {
                if (rank < 0 || rank >= members)
                    throw Error(Status::argument, std::string(what) + ": " + std::to_string(rank) +
                                                      " is not a member of the team");
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
        /// Blocks of equal size, each so far behind the one before.
        void spread(std::size_t count, std::size_t apart) {
            for (std::size_t i = 0; i < ranks.size(); ++i) set(i, count, i * apart);
        }
        void place(const Blocks& blocks, const char* what) {
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

        std::vector<Rank> ranks;
        std::vector<std::size_t> counts;
        std::vector<std::size_t> displacements;
    };

    [[nodiscard]] Call call(const void* in, void* out, Type type) const {
        return Call::alltoallv(in, in_.blocks(), out, out_.blocks(), type);
    }

    Side in_;
    Side out_;
};

inline Neighbors Neighbors::on_grid(std::span<const Rank> extents,
                                    const std::vector<bool>& periodic, Rank rank) {
    if (extents.empty() || periodic.size() != extents.size())
        throw Error(Status::argument, "grid: expected `periodic` for each of its dimensions");
    Rank members = 1;
    for (const Rank extent : extents) members *= extent;
    std::vector<Rank> named;
    Rank reach = members;  // from a rank to the next one along a dimension
    for (std::size_t i = 0; i < extents.size(); ++i) {
        reach /= extents[i];
        const Rank at = rank / reach % extents[i];
        for (const Rank step : {-1, 1}) {
            Rank next = at + step;
            if (periodic[i]) next = (next + extents[i]) % extents[i];
            if (next < 0 || next >= extents[i]) continue;
            const Rank neighbor = rank + (next - at) * reach;
            bool known = false;
            for (const Rank one : named) known = known || one == neighbor;
            if (!known) named.push_back(neighbor);
        }
    }
    return {members, named, named};
}

}  // namespace weft
