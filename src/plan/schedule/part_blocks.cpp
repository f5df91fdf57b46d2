// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/part_blocks.hpp"

#include <algorithm>

#include "plan/schedule/canonical.hpp"

namespace weft::plan {

bool cuts_into_segments(const Program& program) {
    const std::uint32_t segment_units = program.units / program.segments;
    return std::ranges::all_of(program.blocks, [&](const Block& block) {
        return segment_units > 0 && (block.advance == 0 || block.advance == segment_units) &&
               block.first % segment_units + (block.count - 1) * block.stride < segment_units;
    });
}

bool can_spread(const Program& program) {
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

std::vector<Block> PartBlocks::translated(const Block& block) const {
    std::vector<Block> blocks;
    translate(block, blocks);
    return blocks;
}

bool PartBlocks::are_same(std::span<const Block> a, std::span<const Block> b) const {
    return std::ranges::equal(a, b, [&](const Block& left, const Block& right) {
        const Block x = renamed(left);
        const Block y = renamed(right);
        const bool one_buffer = x.buffer == y.buffer && x.index == y.index && x.peer == y.peer;
        return one_buffer && translated(left) == translated(right);
    });
}

void PartBlocks::translate(const Block& block, std::vector<Block>& blocks) const {
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

void PartBlocks::translate(StepKind kind, const Block& block, std::vector<Block>& blocks) const {
    if (place_.blocks == 0) return translate(block, blocks);
    if (kind == StepKind::expose)
        blocks.push_back(spanning_block(renamed(block)));
    else
        spread(renamed(block), kind == StepKind::reduce, blocks);
}

/// Returns the block with the buffer, index and peer that it has in the whole. Keeps its units.
Block PartBlocks::renamed(Block block) const {
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
std::uint32_t PartBlocks::range_shift(std::uint32_t unit) const {
    const std::uint32_t segment_units = own_.units / own_.segments;
    if (part_.ranges == 1 || segment_units == 0) return 0;
    const std::uint32_t segment = unit / segment_units;
    return (segment * (part_.ranges - 1) + part_.range) * segment_units * place_.factor;
}

/// Adds a block in the smaller units of the whole. Units with a stride become separate blocks.
void PartBlocks::widen(Block block, std::vector<Block>& blocks) const {
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
void PartBlocks::add_represented(const Block& block, std::vector<Block>& blocks) const {
    const std::uint32_t factor = place_.factor;
    const std::uint32_t block_units = own_.units / as_u32(own_.size);
    bool can_extend = false;  // the next unit may extend the last block of the list
    for (std::uint32_t i = 0; i < block.count; ++i) {
        const std::uint32_t unit = block.first + i * block.stride;
        const Represented& represented = represented_by(unit / block_units);
        const bool strided = represented.stride > 1 && factor == 1;
        // Keeps the distance from the payload's start. splice() rejects blocks that cannot keep it.
        const bool keeps_origin = i == 0 && block.stride == 1 && part_.blocks_max == 1;
        for (const Rank rank : represented.ranks) {
            const std::uint32_t first = (as_u32(rank) * block_units + unit % block_units) * factor;
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

const PartBlocks::Represented& PartBlocks::represented_by(std::uint32_t rank) const {
    Represented& known = represented_[rank];
    if (!known.ranks.empty()) return known;
    known.ranks = part_.blocks_of(static_cast<Rank>(rank));
    const std::vector<Rank>& ranks = known.ranks;
    if (ranks.size() < 2 || ranks[1] <= ranks[0]) return known;
    const Rank distance = ranks[1] - ranks[0];
    const auto differs = [&](Rank a, Rank b) { return b - a != distance; };
    if (std::ranges::adjacent_find(ranks, differs) == ranks.end()) known.stride = as_u32(distance);
    return known;
}

/// Each unit becomes `factor` units in every rank's block of the whole. Adds one strided Block if
/// possible, else one Block for each rank: if factor > 1; in mapped memory, because a strided Block
/// denotes packed units, but exposed memory has the units between them; and if `separate`, so that
/// all operands of a reduction have equal shapes.
void PartBlocks::spread(const Block& block, bool separate, std::vector<Block>& blocks) const {
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
Block PartBlocks::spanning_block(Block block) const {
    block.first *= place_.factor;
    block.origin = block.first;
    block.count = block.count * place_.factor + (place_.blocks - 1) * place_.block_units;
    block.stride = 1;
    block.advance *= place_.factor;
    return block;
}

}  // namespace weft::plan
