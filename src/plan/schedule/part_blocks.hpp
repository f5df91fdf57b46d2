// SPDX-License-Identifier: BSD-3-Clause
// part_blocks.hpp - maps blocks of a part of a joined program (splice.hpp) to blocks of the whole.
//
// Idea     The part's buffers, slots and ranks get the names that they have in the whole. Its units
//          become units of the whole in one of three ways:
//          - a unit of a range of the vector is `factor` adjacent units;
//          - a unit of a block becomes units of the blocks that it represents
//            (SplicePart::blocks_of);
//          - a *spread* unit u becomes the units from u * factor on of every block of the whole.
//            Then segment s of the part is piece s of every block, as in parts that cut each block.
// Holds    The order of the units in a payload follows from the part's own units, so that sender
//          and receiver agree. Spread units that a rank exposes become one range from the first to
//          the last of them, in which peers find each unit at its distance from the first.
#pragma once

#include <vector>

#include "plan/schedule/splice.hpp"

namespace weft::plan {

/// Location of a part in the whole.
struct PartPlace {
    std::uint32_t slot_first = 0;     ///< number of its first slot
    std::uint32_t scratch_first = 0;  ///< number of its first scratch buffer
    std::uint32_t factor = 1;         ///< units of the whole that a unit becomes, in each block
    std::uint32_t blocks = 0;         ///< blocks of the whole if units are spread, else 0
    std::uint32_t block_units = 0;    ///< units of each of these blocks
};

/// Returns true if the units of a program with segments can be spread.
[[nodiscard]] bool can_spread(const Program& program);

/// Returns true if some block does not move with the segments of the vector.
[[nodiscard]] bool cuts_otherwise(const Program& program);

class PartBlocks {
  public:
    /// `part` and `own`, this rank's program in the part, must outlive this object.
    PartBlocks(const SplicePart& part, const Program& own, const PartPlace& place)
        : part_(part), own_(own), place_(place), represented_(static_cast<std::size_t>(own.size)) {}

    /// Appends the blocks of the whole for a block of the part.
    void translate(const Block& block, std::vector<Block>& blocks) const;
    /// As translate(), for a target or source of a step of this kind.
    void translate(StepKind kind, const Block& block, std::vector<Block>& blocks) const;
    /// Returns true if both lists name the same units of one buffer of the whole.
    [[nodiscard]] bool are_same(std::span<const Block> a, std::span<const Block> b) const;

  private:
    /// Blocks of the whole, by rank, that a block of the group represents.
    struct Represented {
        std::vector<Rank> ranks;
        std::uint32_t stride = 1;  ///< distance between the ranks if constant and positive, else 1
    };

    [[nodiscard]] std::vector<Block> translated(const Block& block) const;
    [[nodiscard]] Block named(Block block) const;
    [[nodiscard]] std::uint32_t range_shift(std::uint32_t unit) const;
    void widen(Block block, std::vector<Block>& blocks) const;
    void add_represented(const Block& block, std::vector<Block>& blocks) const;
    [[nodiscard]] const Represented& represented_by(std::uint32_t rank) const;
    void spread(const Block& block, bool in_runs, std::vector<Block>& blocks) const;
    [[nodiscard]] Block around_spread(Block block) const;

    const SplicePart& part_;
    const Program& own_;
    PartPlace place_;
    mutable std::vector<Represented> represented_;  ///< by rank of the part, filled on request
};

}  // namespace weft::plan
