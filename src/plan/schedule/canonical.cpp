// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/canonical.hpp"

#include <algorithm>
#include <bit>

namespace weft::plan {

namespace {

constexpr std::size_t kLinearSearchMax = 16;  // blocks of a table that is searched without an index
constexpr std::size_t kEntriesMin = 256;      // smallest number of entries of an index

__extension__ using Wide = unsigned __int128;

/// Returns a hash of two products of 128 bits, so that every bit of a block affects the result. The
/// constants are arbitrary.
inline std::uint32_t hash_of(const Block& block) {
    const auto pair = [](std::uint64_t high, std::uint64_t low) { return high << 32 | low; };
    const std::uint64_t kind = pair(static_cast<std::uint64_t>(block.buffer), as_u32(block.peer));
    const Wide position =
        Wide{kind ^ 0x9e3779b97f4a7c15U} * (pair(block.index, block.first) ^ 0xd1342543de82ef95U);
    const Wide extent = Wide{pair(block.count, block.stride) ^ 0xaf251af3b0f025b5U} *
                        (pair(block.origin, block.advance) ^ 0xe7037ed1a0b428dbU);
    const Wide sum = position + extent;
    return as_u32((sum >> 64) ^ sum ^ (sum >> 32));
}

/// Compares first the fields that differ most often.
bool are_equal(const Block& a, const Block& b) {
    return a.first == b.first && a.index == b.index && a.buffer == b.buffer && a.count == b.count &&
           a.origin == b.origin && a.peer == b.peer && a.stride == b.stride &&
           a.advance == b.advance;
}

/// Returns true if the list is in the table at `start`.
bool has_list_at(std::span<const Block> table, std::size_t start, std::span<const Block> list) {
    if (table.size() - start < list.size()) return false;
    for (std::size_t i = 0; i < list.size(); ++i)
        if (!are_equal(table[start + i], list[i])) return false;
    return true;
}

}  // namespace

BlockList intern_blocks(std::vector<Block>& table, std::span<const Block> list) {
    if (list.empty()) return {};
    std::uint32_t start = 0;
    while (start < table.size() && !has_list_at(table, start, list)) ++start;
    if (start == table.size()) table.insert(table.end(), list.begin(), list.end());
    return {start, as_u32(list.size())};
}

BlockList BlockIndex::add_to(Program& program, std::span<const Block> list) {
    if (!program.repeats_blocks) return intern(program.blocks, list);
    const auto start = as_u32(program.blocks.size());
    program.blocks.insert(program.blocks.end(), list.begin(), list.end());
    return {list.empty() ? 0 : start, as_u32(list.size())};
}

BlockList BlockIndex::intern(std::vector<Block>& table, std::span<const Block> list) {
    if (list.empty()) return {};
    if (table.size() <= kLinearSearchMax) return intern_blocks(table, list);
    while (indexed_ < table.size()) add(table, hash_of(table[indexed_]));
    const std::uint32_t hash = hash_of(list.front());
    const std::size_t mask = entries_.size() - 1;
    for (std::size_t at = hash & mask; entries_[at].position != 0; at = (at + 1) & mask) {
        if (entries_[at].hash != hash) continue;
        const std::uint32_t start = entries_[at].position - 1;
        if (has_list_at(table, start, list)) return {start, as_u32(list.size())};
    }
    const auto start = as_u32(table.size());
    table.insert(table.end(), list.begin(), list.end());
    add(table, hash);
    return {start, as_u32(list.size())};
}

/// Indexes the first block that is not yet indexed.
void BlockIndex::add(const std::vector<Block>& table, std::uint32_t hash) {
    if (2 * std::size_t{indexed_} >= entries_.size()) grow(table.capacity());
    add({++indexed_, hash});
}

/// Adds an entry. Entries must be added in the order of their positions. Then a search visits
/// entries with equal hashes in this order, and finds the first matching run of blocks.
void BlockIndex::add(HashEntry entry) {
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = entry.hash & mask;
    while (entries_[at].position != 0) at = (at + 1) & mask;
    entries_[at] = entry;
}

/// Enlarges the index. The copy starts at an empty entry, so that entries with equal hashes keep
/// their order even if their probe sequence wraps around the end.
void BlockIndex::grow(std::size_t blocks) {
    std::vector<HashEntry> old = std::move(entries_);
    entries_.assign(std::bit_ceil(std::max({2 * blocks, 2 * old.size(), kEntriesMin})), {});
    std::ranges::rotate(old, std::ranges::find(old, 0U, &HashEntry::position));
    for (const HashEntry entry : old)
        if (entry.position != 0) add(entry);
}

Program canonical(const Program& program) {
    Program result = program;
    result.blocks.clear();
    result.repeats_blocks = false;
    BlockIndex index;
    for (Step& step : result.steps) {
        step.target = index.intern(result.blocks, blocks_of(program, step.target));
        step.source = index.intern(result.blocks, blocks_of(program, step.source));
    }
    return result;
}

}  // namespace weft::plan
