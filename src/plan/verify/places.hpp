// SPDX-License-Identifier: BSD-3-Clause
// places.hpp - from blocks to the places they name: units of vectors, or parts of payloads.
//
// Idea     A list of blocks becomes a list of places, one for each unit. In a payload (slot,
//          published) a block lies after the blocks that its list names before it, plus the
//          distance from its origin to its first unit; in mapped memory, at that distance alone.
//          What stands there must be one whole unit of the same size, so a program that mixes units
//          up is caught whatever the values are.
// Holds    Memory that another rank exposed is reached only after its expose was awaited, and
//          written only if it was exposed for writing; each access to it is noted, and
//          ends_in_time() shows that the owner's program does not end before.
// Next     bind.cpp in run/bind gives blocks the same addresses.
#pragma once

#include <vector>

#include "plan/verify/arrivals.hpp"

namespace weft::plan {

/// One unit of a block.
struct Place {
    std::uint32_t cell = kNone;     ///< of a vector
    std::uint32_t raise = kNone;    ///< or of a payload: the raise that carried it,
    std::uint32_t carried = 0;      ///< and the entry in Arrivals::payloads()
    std::uint32_t exposed = kNone;  ///< reached through this expose
    Rank owner = kNoRank;           ///< of exposed memory
    std::uint64_t size = 0;         ///< elements
};

/// The step that names blocks.
struct Site {
    std::uint32_t lane = 0;
    Rank rank = 0;
    std::uint32_t segment = 0;
};

/// Where units start, for each rank.
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
    std::vector<std::vector<std::uint64_t>> starts_;
};

class Places {
  public:
    Places(std::span<const Program> programs, const Sizes& sizes, Memory& memory,
           Arrivals& arrivals, Order& order, Reason& reason);

    /// Replaces `places` by those of the blocks.
    [[nodiscard]] bool resolve(const Site& site, std::span<const Block> blocks,
                               std::vector<Place>& places);
    [[nodiscard]] bool read(const Site& site, const Place& place, const Access& access,
                            std::uint32_t position, Value& value);
    [[nodiscard]] bool write(const Site& site, const Place& place, const Access& access,
                             std::uint32_t position, Value value);
    /// What an expose carries: the block with its segment's advance, and the slot's raise if it is
    /// one.
    [[nodiscard]] bool expose(const Site& site, const Block& block, Raise& raise);
    /// At the end: every rank's program outlives the accesses of others to its vectors.
    [[nodiscard]] bool ends_in_time(std::span<const std::uint32_t> lane_starts);

  private:
    /// How far the list has come.
    struct Packed {
        std::uint32_t units = 0;
        std::uint64_t elements = 0;
    };
    [[nodiscard]] bool resolve_block(const Site& site, const Block& block, Packed& packed,
                                     std::vector<Place>& places);
    [[nodiscard]] bool resolve_vector(Rank rank, const Block& block, std::vector<Place>& places);
    [[nodiscard]] bool resolve_payload(const Site& site, const Block& block, const Packed& packed,
                                       std::vector<Place>& places);
    [[nodiscard]] bool take_carried(std::uint32_t raise, std::uint64_t index, std::uint64_t offset,
                                    Place& place);
    [[nodiscard]] bool take_exposed(std::uint32_t raise, std::uint64_t index, std::uint64_t offset,
                                    Place& place);
    [[nodiscard]] bool find_raise(const Site& site, const Block& block, std::uint32_t& id);
    [[nodiscard]] bool does_not_fit(const Raise& raise, const Place& place);
    void note(const Site& site, const Place& place, const Access& access);

    std::span<const Program> programs_;
    const Sizes& sizes_;
    Memory& memory_;
    Arrivals& arrivals_;
    Order& order_;
    Reason& reason_;
    std::vector<std::vector<Access>> visits_;  ///< per owner: accesses of others to its vectors
};

}  // namespace weft::plan
