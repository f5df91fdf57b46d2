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

#include <algorithm>
#include <vector>

#include "plan/schedule/canonical.hpp"
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

/// Returns true if each block is within the units of one segment, and advances by the units of one
/// segment or not at all.
[[nodiscard]] inline bool cuts_into_segments(const Program& program) {
    const std::uint32_t segment_units = program.units / program.segments;
    return std::ranges::all_of(program.blocks, [&](const Block& block) {
        return segment_units > 0 && (block.advance == 0 || block.advance == segment_units) &&
               block.first % segment_units + (block.count - 1) * block.stride < segment_units;
    });
}

/// Returns true if the units of a program with segments can be spread.
[[nodiscard]] inline bool can_spread(const Program& program) {
    if (program.units == 0 || program.units % program.segments != 0 || !cuts_into_segments(program))
        return false;
    const bool starts_inside_payload = std::ranges::any_of(program.blocks, [](const Block& block) {
        return is_payload(block.buffer) && block.buffer != Buffer::mapped && block.stride == 1 &&
               block.origin != block.first;
    });
    return !starts_inside_payload && std::ranges::none_of(program.steps, [&](const Step& step) {
        // The target of a put must stay one block. An exposed slot would hold packed units, without
        // the gaps of spanning_block().
        if (step.kind == StepKind::put) return step.target.count != 0;
        return step.kind == StepKind::expose &&
               program.blocks[step.source.start].buffer == Buffer::slot;
    });
}

class PartBlocks {
  public:
    /// `own` is this rank's program in the part. `part` and `own` must outlive this object.
    PartBlocks(const SplicePart& part, const Program& own, const PartPlace& place)
        : part_(part), own_(own), place_(place), represented_(static_cast<std::size_t>(own.size)) {}

    /// Appends the blocks of the whole for a block of the part.
    void translate(const Block& block, std::vector<Block>& blocks) const {
        const Block named = renamed(block);
        if (part_.blocks_of != nullptr) return add_represented(named, blocks);
        if (place_.blocks > 0) return spread(named, false, blocks);
        const std::uint32_t shift = range_shift(named.first);
        const std::size_t before = blocks.size();
        widen(named, blocks);
        for (Block& added : std::span(blocks).subspan(before)) {
            added.first += shift;
            added.origin += shift;
            added.advance *= part_.ranges;
        }
    }
    /// Same for a block in the target or source of a step of this kind.
    void translate(StepKind kind, const Block& block, std::vector<Block>& blocks) const {
        if (place_.blocks == 0) return translate(block, blocks);
        if (kind == StepKind::expose)
            blocks.push_back(spanning_block(renamed(block)));
        else
            spread(renamed(block), kind == StepKind::reduce, blocks);
    }
    /// Returns true if both lists become the same units of one buffer of the whole.
    [[nodiscard]] bool are_same(std::span<const Block> a, std::span<const Block> b) const {
        return std::ranges::equal(a, b, [&](const Block& left, const Block& right) {
            return translated(left) == translated(right);
        });
    }

  private:
    /// Blocks of the whole that a block of the part represents.
    struct Represented {
        std::vector<Rank> ranks;   ///< ranks whose blocks they are
        std::uint32_t stride = 1;  ///< distance between the ranks if constant and positive, else 1
    };

    [[nodiscard]] std::vector<Block> translated(const Block& block) const {
        std::vector<Block> blocks;
        translate(block, blocks);
        return blocks;
    }
    /// Returns the block with the buffer, index and peer that it has in the whole. Keeps its units.
    [[nodiscard]] Block renamed(Block block) const {
        const auto rename = [&block](VectorName name) {
            block.buffer = name.buffer;
            block.index = name.index;
        };
        switch (block.buffer) {
            case Buffer::input:
                rename(part_.input);
                break;
            case Buffer::output:
                rename(part_.output);
                break;
            case Buffer::scratch:
                block.index += place_.scratch_first;
                break;
            case Buffer::slot:
                block.index += place_.slot_first;
                break;
            case Buffer::published:
            case Buffer::mapped:  // numbered like slots
                block.index += place_.slot_first;
                block.peer = part_.rank_of(block.peer);
                break;
        }
        return block;
    }
    /// Returns the offset, in units of the whole, to add to `unit` * factor. A segment of the whole
    /// consists of one segment of each range.
    [[nodiscard]] std::uint32_t range_shift(std::uint32_t unit) const {
        const std::uint32_t segment_units = own_.units / own_.segments;
        if (part_.ranges == 1 || segment_units == 0) return 0;
        const std::uint32_t segment = unit / segment_units;
        return (segment * (part_.ranges - 1) + part_.range) * segment_units * place_.factor;
    }
    /// Adds a block in the smaller units of the whole. Units with a stride become separate blocks.
    void widen(Block block, std::vector<Block>& blocks) const {
        const std::uint32_t factor = place_.factor;
        if (factor == 1) return blocks.push_back(block);
        block.advance *= factor;
        if (block.stride == 1 || block.count <= 1) {
            block.origin = (block.stride == 1 ? block.origin : block.first) * factor;
            block.first *= factor;
            block.count *= factor;
            block.stride = 1;
            blocks.push_back(block);
            return;
        }
        for (std::uint32_t i = 0; i < block.count; ++i) {
            Block& added = blocks.emplace_back(block);
            added.origin = added.first = (block.first + i * block.stride) * factor;
            added.count = factor;
            added.stride = 1;
        }
    }
    /// Each rank's block of the part represents the blocks of one or more ranks of the whole
    /// (blocks_of). For each unit, adds the unit at the same position in each of these blocks.
    void add_represented(const Block& block, std::vector<Block>& blocks) const {
        const std::uint32_t factor = place_.factor;
        const std::uint32_t block_units = own_.units / as_u32(own_.size);
        bool can_extend = false;  // the next unit may extend the last block of the list
        for (std::uint32_t i = 0; i < block.count; ++i) {
            const std::uint32_t unit = block.first + i * block.stride;
            const Represented& represented = represented_by(unit / block_units);
            const bool strided = represented.stride > 1 && factor == 1;
            // Keeps the distance from the payload's start; splice() rejects blocks that cannot.
            const bool keeps_origin = i == 0 && block.stride == 1 && part_.blocks_max == 1;
            for (const Rank rank : represented.ranks) {
                const std::uint32_t first =
                    (as_u32(rank) * block_units + unit % block_units) * factor;
                if (can_extend && !strided && blocks.back().first + blocks.back().count == first) {
                    blocks.back().count += factor;
                    continue;
                }
                Block& added = blocks.emplace_back(block);
                added.first = first;
                added.origin = first - (keeps_origin ? (unit - block.origin) * factor : 0);
                added.count = strided ? as_u32(represented.ranks.size()) : factor;
                added.stride = strided ? represented.stride * block_units : 1;
                added.advance = block.advance * factor;
                can_extend = !strided;
                if (strided) break;
            }
        }
    }
    [[nodiscard]] const Represented& represented_by(std::uint32_t rank) const {
        Represented& known = represented_[rank];
        if (!known.ranks.empty()) return known;
        known.ranks = part_.blocks_of(static_cast<Rank>(rank));
        const std::vector<Rank>& ranks = known.ranks;
        if (ranks.size() < 2 || ranks[1] <= ranks[0]) return known;
        const Rank distance = ranks[1] - ranks[0];
        const auto differs = [&](Rank a, Rank b) { return b - a != distance; };
        if (std::ranges::adjacent_find(ranks, differs) == ranks.end())
            known.stride = as_u32(distance);
        return known;
    }
    /// Each unit becomes `factor` units in every rank's block of the whole. Adds one strided Block
    /// if possible, else one Block for each rank: if factor > 1; in mapped memory, because a
    /// strided Block denotes packed units, but exposed memory has the units between them; and if
    /// `separate`, so that all operands of a reduction have equal shapes.
    void spread(const Block& block, bool separate, std::vector<Block>& blocks) const {
        const bool mapped = block.buffer == Buffer::mapped;
        for (std::uint32_t i = 0; i < block.count; ++i) {
            Block added = block;
            added.first = (block.first + i * block.stride) * place_.factor;
            added.origin = mapped ? block.origin * place_.factor : added.first;
            added.count = place_.factor;
            added.stride = 1;
            added.advance *= place_.factor;
            if (place_.factor == 1 && !mapped && !separate) {
                added.count = place_.blocks;
                added.stride = place_.block_units;
                blocks.push_back(added);
                continue;
            }
            for (std::uint32_t b = 0; b < place_.blocks; ++b) {
                blocks.push_back(added);
                added.first += place_.block_units;
                if (!mapped) added.origin = added.first;
            }
        }
    }
    /// Returns one contiguous block, from the first to the last unit that spread() would add.
    [[nodiscard]] Block spanning_block(Block block) const {
        block.first *= place_.factor;
        block.origin = block.first;
        block.count = block.count * place_.factor + (place_.blocks - 1) * place_.block_units;
        block.stride = 1;
        block.advance *= place_.factor;
        return block;
    }

    const SplicePart& part_;
    const Program& own_;
    PartPlace place_;
    mutable std::vector<Represented> represented_;  ///< by rank of the part; filled at first use
};

}  // namespace weft::plan
