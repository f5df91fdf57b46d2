// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/call_data.hpp"

#include <algorithm>
#include <type_traits>

namespace weft::mpi {

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

Why CallData::set_blocks(const RankBlocks& given, int ranks, bool copies, bool receives) {
    std::vector<Packing> blocks(static_cast<std::size_t>(ranks));
    for (std::size_t rank = 0; rank < blocks.size(); ++rank)
        if (!read_block(given, rank, blocks[rank])) return Why::arguments;
    lay_out(blocks,
            copies || !std::ranges::all_of(blocks, is_contiguous) || (receives && overlap(blocks)));
    return Why::served;
}

/// Sets blocks of different sizes. Displacements count from the packed data if `packs`, else from
/// the block with the lowest address: MPI's displacements may be negative or absolute.
void CallData::lay_out(std::vector<Packing>& blocks, bool packs) {
    std::byte* low = nullptr;
    for (const Packing& block : blocks)
        if (block.bytes() != 0 && (low == nullptr || block.memory < low)) low = block.memory;
    memory = low != nullptr || blocks.empty() ? low : blocks.front().memory;
    std::size_t all = 0;
    for (const Packing& block : blocks) {
        const std::size_t bytes = block.bytes();
        const auto place = bytes == 0 ? 0 : static_cast<std::size_t>(block.memory - low);
        counts.push_back(bytes);
        displacements.push_back(packs ? all : place);
        all += bytes;
    }
    if (!packs) return;
    std::byte* room = make_room(all);
    for (Packing& block : blocks) {
        block.packed = room;
        room += block.bytes();
    }
    packings = std::move(blocks);
}

Why CallData::set_neighbors(const RankBlocks& given, const Entries& entries, BlockOrder order,
                            bool shares) {
    std::vector<Packing> blocks(entries.of_block.size());
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (!read_block(given, i, blocks[i])) return Why::arguments;
    std::vector<Packing> present;
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (entries.of_block[i] >= 0) present.push_back(blocks[i]);
    if (static_cast<std::size_t>(entries.count) == present.size()) {
        lay_out(present, !std::ranges::all_of(present, is_contiguous) || overlap(present));
    } else {
        lay_out_entries(blocks, entries, order, shares);
    }
    return Why::served;
}

/// Packs the blocks of an entry next to each other.
void CallData::lay_out_entries(std::vector<Packing>& blocks, const Entries& entries,
                               BlockOrder order, bool shares) {
    std::size_t all = 0;
    for (const Packing& block : blocks) all += block.bytes();
    std::byte* room = make_room(all);
    for (int entry = 0; entry < entries.count; ++entry) {
        std::byte* const begin = room;
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const std::size_t number = order == BlockOrder::backward  ? blocks.size() - 1 - i
                                       : order == BlockOrder::crossed ? i ^ 1
                                                                      : i;
            if (entries.of_block[number] != entry) continue;
            Packing& block = blocks[number];
            block.packed = shares ? begin : room;
            room = block.packed + block.bytes();
            packings.push_back(block);
        }
        counts.push_back(static_cast<std::size_t>(room - begin));
        displacements.push_back(static_cast<std::size_t>(begin - packed.get()));
    }
}

}  // namespace weft::mpi
