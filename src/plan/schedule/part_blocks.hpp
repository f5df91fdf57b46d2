// SPDX-License-Identifier: BSD-3-Clause
// part_blocks.hpp - maps blocks of a part to blocks of the whole, the joined program (splice.hpp).
//
// Idea     The part's buffers, slots and ranks get the numbers that they have in the whole. A unit
//          of the part becomes units of the whole in one of three ways:
//          - if the part cuts the whole buffer: `factor` adjacent units;
//          - if the part cuts each block: units of the blocks that the unit's block represents
//            (SplicePart::blocks_of);
//          - *spread*: the units from u * factor on of every block of the whole. Then segment s of
//            the part is piece s of every block, as in parts that cut each block.
// Holds    The order of the units in a payload follows from the order in the part, so sender and
//          receiver agree. Spread units that a rank exposes become one range, from the first to
//          the last. Peers find each unit at its distance from the first.
#pragma once

#include <vector>

#include "plan/schedule/splice.hpp"

namespace weft::plan {

/// Location of a part in the whole.
struct PartPlace {
    std::uint32_t slot_first = 0;     ///< number of the part's first slot
    std::uint32_t scratch_first = 0;  ///< number of the part's first scratch buffer
    std::uint32_t factor = 1;         ///< adjacent units of the whole that a unit becomes
    std::uint32_t blocks = 0;       ///< number of blocks over which units are spread; 0: not spread
    std::uint32_t block_units = 0;  ///< number of units of each block of the whole
};

/// Returns true if the units of a program with segments can be spread.
[[nodiscard]] bool can_spread(const Program& program);

/// Returns true if each block is within the units of one segment, and advances by the units of one
/// segment or not at all.
[[nodiscard]] bool cuts_into_segments(const Program& program);

class PartBlocks {
  public:
    /// `own` is this rank's program in the part. `part` and `own` must outlive this object.
    PartBlocks(const SplicePart& part, const Program& own, const PartPlace& place)
        : part_(part), own_(own), place_(place), represented_(static_cast<std::size_t>(own.size)) {}

    /// Appends the blocks of the whole for a block of the part.
    void translate(const Block& block, std::vector<Block>& blocks) const;
    /// Same for a block in the target or source of a step of this kind.
    void translate(StepKind kind, const Block& block, std::vector<Block>& blocks) const;
    /// Returns true if both lists become the same units of one buffer of the whole.
    [[nodiscard]] bool are_same(std::span<const Block> a, std::span<const Block> b) const;

  private:
    /// Blocks of the whole that a block of the part represents.
    struct Represented {
        std::vector<Rank> ranks;   ///< ranks whose blocks they are
        std::uint32_t stride = 1;  ///< distance between the ranks if constant and positive, else 1
    };

    [[nodiscard]] std::vector<Block> translated(const Block& block) const;
    [[nodiscard]] Block renamed(Block block) const;
    [[nodiscard]] std::uint32_t range_shift(std::uint32_t unit) const;
    void widen(Block block, std::vector<Block>& blocks) const;
    void add_represented(const Block& block, std::vector<Block>& blocks) const;
    [[nodiscard]] const Represented& represented_by(std::uint32_t rank) const;
    void spread(const Block& block, bool separate, std::vector<Block>& blocks) const;
    [[nodiscard]] Block spanning_block(Block block) const;

    const SplicePart& part_;
    const Program& own_;
    PartPlace place_;
    mutable std::vector<Represented> represented_;  ///< by rank of the part; filled at first use
};

}  // namespace weft::plan
