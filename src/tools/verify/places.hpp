// SPDX-License-Identifier: BSD-3-Clause
// places.hpp - resolves blocks to places: units of buffers, or parts of payloads.
//
// Idea     A list of blocks becomes a list of places, one for each unit. A block in a payload (slot
//          or published cell) starts after the blocks before it in the list, plus the distance from
//          the block's origin to its first unit. A block in mapped memory starts at that distance.
//          Each place must be one whole unit of the expected size, so a program that mixes up units
//          of different sizes is detected.
// Holds    Exposed memory of another rank is accessed only after the wait for its expose, and
//          written only if exposed for writing. check_owners_end_last() checks all recorded
//          accesses: the owner's program must not end before them.
// Next     bind.cpp in run/bind computes the same addresses.
#pragma once

#include <vector>

#include "tools/verify/arrivals.hpp"

namespace weft::plan {

struct UnitPlace {
    std::uint32_t cell = kNone;     ///< for a unit of a buffer: its cell (memory.hpp)
    std::uint32_t raise = kNone;    ///< for a payload: the raise that carried it
    std::uint32_t carried = 0;      ///< for a payload: its entry in Arrivals::payloads()
    std::uint32_t exposed = kNone;  ///< mapped: raise of the expose
    Rank owner = kNoRank;    ///< mapped buffer: its owner; not for slots, which outlive programs
    std::uint64_t size = 0;  ///< elements
};

/// Lane, rank and loop segment of the step in execution.
struct Site {
    std::uint32_t lane = 0;
    Rank rank = 0;
    std::uint32_t segment = 0;
};

/// First element and size of each unit, by rank.
class Sizes {
  public:
    Sizes(std::span<const Program> programs, std::uint64_t elements);
    [[nodiscard]] std::uint64_t begin(Rank rank, std::uint32_t unit) const {
        return starts_[uneven_ ? static_cast<std::size_t>(rank) : 0][unit];
    }
    [[nodiscard]] std::uint64_t size(Rank rank, std::uint32_t unit) const {
        return begin(rank, unit + 1) - begin(rank, unit);
    }

  private:
    bool uneven_ = false;
    std::vector<std::vector<std::uint64_t>> starts_;  ///< by rank if uneven_, else one for all
};

/// Accesses of steps to places. Functions return false, and set the reason, if a rule is broken.
class Places {
  public:
    Places(std::span<const Program> programs, const Sizes& sizes, Memory& memory,
           Arrivals& arrivals, Order& order, Reason& reason);

    /// Sets `places` to the places of the blocks.
    [[nodiscard]] bool resolve(const Site& site, std::span<const Block> blocks,
                               std::vector<UnitPlace>& places);
    /// Read and write a place, as unit `position` of an operand or target of the step.
    [[nodiscard]] bool read(const Site& site, const UnitPlace& place, const Access& access,
                            std::uint32_t position, Value& value);
    [[nodiscard]] bool write(const Site& site, const UnitPlace& place, const Access& access,
                             std::uint32_t position, Value value);
    /// Stores the current segment's exposed block in `raise`. For a block of a slot it also stores
    /// the slot's raise.
    [[nodiscard]] bool expose(const Site& site, const Block& block, Raise& raise);
    /// Checks that every rank's program ends after all accesses of other ranks to its buffers.
    /// Called after all lanes have ended.
    [[nodiscard]] bool check_owners_end_last(std::span<const std::uint32_t> lane_starts);

  private:
    /// Length of the blocks of a list that are already resolved.
    struct Packed {
        std::uint32_t units = 0;
        std::uint64_t elements = 0;
    };
    [[nodiscard]] bool resolve_block(const Site& site, const Block& block, Packed& packed,
                                     std::vector<UnitPlace>& places);
    [[nodiscard]] bool resolve_own_buffer(Rank rank, const Block& block,
                                          std::vector<UnitPlace>& places);
    [[nodiscard]] bool resolve_payload(const Site& site, const Block& block, const Packed& packed,
                                       std::vector<UnitPlace>& places);
    /// Set `place` to unit `index` of a raise's payload or exposed block. Return false if it does
    /// not start `offset` elements after the first unit, or not have the size in `place`.
    [[nodiscard]] bool place_in_payload(std::uint32_t raise, std::uint64_t index,
                                        std::uint64_t offset, UnitPlace& place);
    [[nodiscard]] bool place_in_exposed(std::uint32_t raise, std::uint64_t index,
                                        std::uint64_t offset, UnitPlace& place);
    [[nodiscard]] bool find_raise(const Site& site, const Block& block, std::uint32_t& id);
    /// Records an access to exposed memory.
    void record(const Site& site, const UnitPlace& place, const Access& access);

    std::span<const Program> programs_;
    const Sizes& sizes_;
    Memory& memory_;
    Arrivals& arrivals_;
    Order& order_;
    Reason& reason_;
    std::vector<std::vector<Access>> accesses_;  ///< by owner: other ranks' uses of its buffers
};

}  // namespace weft::plan
