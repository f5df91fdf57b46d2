// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/call_data.hpp"

#include <algorithm>
#include <numeric>

#include "faces/mpi/handle_map.hpp"

namespace weft::mpi {

/// Appends the address, counts, types and displacements of the first `blocks` blocks to `list`.
/// Returns false if arrays are missing, or if the program may free a type.
bool RankBlocks::append_to(std::vector<std::int64_t>& list, std::size_t blocks) const {
    list.push_back(reinterpret_cast<std::intptr_t>(memory_));
    if (!have_arrays()) return false;
    for (std::size_t i = 0; i < (are_equal_ ? std::min<std::size_t>(blocks, 1) : blocks); ++i) {
        if (!is_builtin(type(i))) return false;
        list.push_back(count(i));
        list.push_back(static_cast<std::int64_t>(number_of(type(i))));
        list.push_back(are_equal_ || have_displacements() ? offset(i, 1) : 0);
    }
    return true;
}

namespace {

/// Returns true if two blocks share bytes, which MPI forbids but programs do and hosts accept.
bool overlap(const std::vector<Packing>& blocks) {
    std::vector<std::pair<const std::byte*, const std::byte*>> held;
    for (const Packing& block : blocks)
        if (block.bytes() != 0) held.emplace_back(block.memory, block.memory + block.bytes());
    if (!std::ranges::is_sorted(held)) std::ranges::sort(held);
    return std::ranges::adjacent_find(held, [](const auto& one, const auto& next) {
               return one.second > next.first;
           }) != held.end();
}

/// Reads a block of the caller. Returns false for erroneous arguments.
bool read_block(const RankBlocks& given, std::size_t index, Packing& block) {
    if (!given.have_arrays()) return false;
    const MPI_Count count = given.count(index);
    const MPI_Datatype type = given.type(index);
    const TypeFacts* const facts = facts_for(count, type);
    if (facts == nullptr) return false;
    block = {.memory = at(given.memory(), 0), .count = count, .type = type, .facts = *facts};
    if (count == 0) return true;
    if (!given.are_equal() && !given.have_displacements()) return false;
    block.memory = at(given.memory(), given.offset(index, facts->extent));
    return given.memory() != MPI_IN_PLACE && !is_no_memory(block.memory, *facts);
}

bool is_contiguous(const Packing& block) {
    return block.facts.contiguous;
}

}  // namespace

std::byte* CallData::make_room(std::size_t bytes) {
    packed = Room(bytes);  // not null, even for 0 bytes
    memory = packed.get();
    return packed.get();
}

Why CallData::set(const Elements& given, MPI_Count times, bool copies, std::size_t& bytes) {
    const TypeFacts* const facts = facts_for(given.count, given.type);
    if (facts == nullptr || (given.count != 0 && is_no_memory(given.memory, *facts)))
        return Why::arguments;
    bytes = bytes_of(given.count, *facts);
    memory = const_cast<void*>(given.memory);
    if (facts->contiguous && !copies) return Why::served;
    std::byte* const room = make_room(bytes * static_cast<std::size_t>(times));
    packings.push_back({.packed = room,
                        .memory = at(given.memory, 0),
                        .count = given.count * times,
                        .type = given.type,
                        .facts = *facts});
    return Why::served;
}

Entries Entries::of_ranks(int ranks) {
    Entries entries{std::vector<int>(static_cast<std::size_t>(ranks)),
                    static_cast<std::size_t>(ranks)};
    std::iota(entries.of_block.begin(), entries.of_block.end(), 0);
    return entries;
}

Why CallData::set_blocks(const RankBlocks& given, const Entries& entries, const BlockUse& use) {
    const std::size_t all = entries.of_block.size();
    std::vector<Packing> blocks;  // in the order in which the blocks of an entry arrive
    std::vector<int> entry_of;
    std::vector<int> blocks_of(entries.count);
    for (std::size_t i = 0; i < all; ++i) {
        const std::size_t number = use.order == BlockOrder::backward  ? all - 1 - i
                                   : use.order == BlockOrder::crossed ? i ^ 1
                                                                      : i;
        Packing block;
        if (!read_block(given, number, block)) return Why::arguments;
        const int entry = entries.of_block[number];
        if (entry < 0) continue;
        const int earlier = blocks_of[static_cast<std::size_t>(entry)]++;
        if (use.round != BlockUse::kAllRounds && use.round != earlier) continue;
        blocks.push_back(std::move(block));
        entry_of.push_back(entry);
    }
    if (!use_in_place(blocks, entry_of, entries, use))
        pack_entries(blocks, entry_of, entries, use.shares);
    return Why::served;
}

/// Passes the caller's memory to weft. Returns false if the blocks of an entry are not adjacent in
/// the order of arrival, or must be copied for another reason. Displacements count from the lowest
/// address: MPI's displacements may be negative or absolute.
bool CallData::use_in_place(const std::vector<Packing>& blocks, const std::vector<int>& entry_of,
                            const Entries& entries, const BlockUse& use) {
    if (use.copies || !std::ranges::all_of(blocks, is_contiguous) ||
        (use.receives && overlap(blocks)))
        return false;
    std::vector<std::byte*> starts(entries.count);  // nullptr: the entry has no bytes so far
    std::vector<std::size_t> bytes(entries.count);
    std::vector<Packing> repeats;  // further blocks that receive the data of the entry's first one
    std::byte* low = nullptr;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const Packing& block = blocks[i];
        if (block.bytes() == 0) continue;
        const auto entry = static_cast<std::size_t>(entry_of[i]);
        if (low == nullptr || block.memory < low) low = block.memory;
        if (starts[entry] == nullptr) {
            starts[entry] = block.memory;
            bytes[entry] = block.bytes();
        } else if (use.shares) {
            repeats.push_back(block);
            repeats.back().packed = starts[entry];
        } else if (block.memory == starts[entry] + bytes[entry]) {
            bytes[entry] += block.bytes();
        } else {
            return false;
        }
    }
    memory = low != nullptr || blocks.empty() ? low : blocks.front().memory;
    for (const std::byte* const start : starts)
        displacements.push_back(start == nullptr ? 0 : static_cast<std::size_t>(start - low));
    counts = std::move(bytes);
    packings = std::move(repeats);
    return true;
}

/// Packs the blocks of an entry next to each other.
void CallData::pack_entries(std::vector<Packing>& blocks, const std::vector<int>& entry_of,
                            const Entries& entries, bool shares) {
    counts.assign(entries.count, 0);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        std::size_t& bytes = counts[static_cast<std::size_t>(entry_of[i])];
        bytes = shares ? blocks[i].bytes() : bytes + blocks[i].bytes();
    }
    displacements.resize(entries.count);
    std::exclusive_scan(counts.begin(), counts.end(), displacements.begin(), std::size_t{0});
    std::byte* const room = make_room(std::reduce(counts.begin(), counts.end()));
    std::vector<std::size_t> next = displacements;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        std::size_t& place = next[static_cast<std::size_t>(entry_of[i])];
        blocks[i].packed = room + place;
        if (!shares) place += blocks[i].bytes();
    }
    packings = std::move(blocks);
}

}  // namespace weft::mpi
