// SPDX-License-Identifier: BSD-3-Clause
// prepared_blocks.cpp - calls with a count for each rank: gatherv, scatterv, allgatherv, alltoallv.
#include <algorithm>
#include <optional>
#include <utility>

#include "faces/mpi/prepared.hpp"

namespace weft::mpi {

template <class Count, class Displacement>
Why PreparedCall::blocks_of(const BlocksOf<Count, Displacement>& given,
                            std::vector<Block>& blocks) const {
    if (given.counts == nullptr || given.types == nullptr ||
        (given.own_types && given.displacements == nullptr))
        return Why::arguments;
    std::ptrdiff_t next = 0;
    for (int rank = 0; rank < place_.size; ++rank) {
        Block block{.type = given.types[given.own_types ? rank : 0]};
        block.facts = facts_for(given.counts[rank], block.type);
        if (block.facts == nullptr) return Why::arguments;
        block.count = static_cast<std::size_t>(given.counts[rank]);
        block.at = next;
        if (given.displacements != nullptr) {
            block.at = static_cast<std::ptrdiff_t>(given.displacements[rank]);
            if (!given.own_types) block.at *= block.facts->extent;
        }
        next += static_cast<std::ptrdiff_t>(block.count) * block.facts->extent;
        blocks.push_back(block);
    }
    return Why::served;
}

namespace {

template <class Blocks>
bool all_contiguous(const Blocks& blocks) {
    return std::ranges::all_of(
        blocks, [](const auto& block) { return block.count == 0 || block.facts->contiguous; });
}

/// Returns true if two blocks share bytes. This is erroneous in MPI, but works in programs
/// that do it.
template <class Blocks>
bool overlap(const Blocks& blocks) {
    std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> held;
    bool ascending = true;
    for (const auto& block : blocks) {
        const auto bytes = static_cast<std::ptrdiff_t>(block.count * block.facts->size);
        if (bytes == 0) continue;
        ascending = ascending && (held.empty() || held.back().second <= block.at);
        held.emplace_back(block.at, block.at + bytes);
    }
    if (ascending) return false;
    std::ranges::sort(held);
    return std::ranges::adjacent_find(held, [](const auto& one, const auto& next) {
               return one.second > next.first;
           }) != held.end();
}

/// Returns the lowest offset of a block with data. Displacements of MPI may be negative, and with
/// MPI_BOTTOM they are addresses; those of weft count from the lowest block.
template <class Blocks>
std::ptrdiff_t lowest(const Blocks& blocks) {
    std::optional<std::ptrdiff_t> low;
    for (const auto& block : blocks) {
        if (block.count * block.facts->size != 0) low = std::min(low.value_or(block.at), block.at);
    }
    return low.value_or(0);
}

}  // namespace

void PreparedCall::read_blocks(const void* memory, const std::vector<Block>& blocks) {
    const bool as_it_lies = all_contiguous(blocks);
    const std::ptrdiff_t low = lowest(blocks);
    std::size_t packed = 0;
    for (const Block& block : blocks) {
        const std::size_t bytes = block.count * block.facts->size;
        const std::size_t there = bytes == 0 ? 0 : static_cast<std::size_t>(block.at - low);
        in_blocks_.counts.push_back(bytes);
        in_blocks_.displacements.push_back(as_it_lies ? there : packed);
        packed += bytes;
    }
    in_ = at(memory, low);
    if (as_it_lies) return;
    std::byte* to = make_room(sent_, packed);
    in_ = to;
    for (const Block& block : blocks) {
        packings_.push_back({to, at(memory, block.at), static_cast<MPI_Count>(block.count),
                             block.type, *block.facts});
        to += block.count * block.facts->size;
    }
}

void PreparedCall::write_blocks(void* memory, const std::vector<Block>& blocks, bool keeps_own) {
    const bool as_it_lies = all_contiguous(blocks) && !overlap(blocks);
    const std::ptrdiff_t low = lowest(blocks);
    std::size_t packed = 0;
    for (const Block& block : blocks) {
        const std::size_t bytes = block.count * block.facts->size;
        const std::size_t there = bytes == 0 ? 0 : static_cast<std::size_t>(block.at - low);
        out_blocks_.counts.push_back(bytes);
        out_blocks_.displacements.push_back(as_it_lies ? there : packed);
        packed += bytes;
    }
    out_ = const_cast<std::byte*>(at(memory, low));
    if (as_it_lies) return;
    out_ = make_room(received_, packed);
    for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
        const Block& block = blocks[rank];
        if (out_blocks_.counts[rank] == 0) continue;
        unpackings_.push_back({received_.get() + out_blocks_.displacements[rank],
                               const_cast<std::byte*>(at(memory, block.at)),
                               static_cast<MPI_Count>(block.count), block.type, *block.facts});
    }
    if (!keeps_own) return;
    const auto me = static_cast<std::size_t>(place_.rank);
    packings_.push_back({received_.get() + out_blocks_.displacements[me], at(memory, blocks[me].at),
                         static_cast<MPI_Count>(blocks[me].count), blocks[me].type,
                         *blocks[me].facts});
}

template <class Count, class Displacement>
Why PreparedCall::gatherv(const Elements& in, const BlocksOf<Count, Displacement>& out, int root) {
    if (!valid_root(root)) return Why::arguments;
    const bool in_place = in.memory == MPI_IN_PLACE;
    if (in_place && !root_is(root)) return Why::arguments;
    root_ = root;
    if (!in_place) {
        if (const Why why = read(in, 1); why != Why::served) return why;
    }
    if (!root_is(root)) return Why::served;
    std::vector<Block> blocks;
    if (const Why why = blocks_of(out, blocks); why != Why::served) return why;
    write_blocks(const_cast<void*>(out.memory), blocks, in_place);
    if (in_place) in_ = WEFT_IN_PLACE;
    return Why::served;
}

template <class Count, class Displacement>
Why PreparedCall::scatterv(const BlocksOf<Count, Displacement>& in, const Elements& out, int root) {
    if (!valid_root(root)) return Why::arguments;
    const bool in_place = out.memory == MPI_IN_PLACE;
    if (in_place && !root_is(root)) return Why::arguments;
    root_ = root;
    if (!in_place) {
        if (const Why why = write(out, 1); why != Why::served) return why;
    }
    if (!root_is(root)) return Why::served;
    std::vector<Block> blocks;
    if (const Why why = blocks_of(in, blocks); why != Why::served) return why;
    read_blocks(in.memory, blocks);
    if (in_place) out_ = WEFT_IN_PLACE;
    return Why::served;
}

template <class Count, class Displacement>
Why PreparedCall::allgatherv(const Elements& in, const BlocksOf<Count, Displacement>& out) {
    const bool in_place = in.memory == MPI_IN_PLACE;
    if (!in_place) {
        if (const Why why = read(in, 1); why != Why::served) return why;
    }
    std::vector<Block> blocks;
    if (const Why why = blocks_of(out, blocks); why != Why::served) return why;
    write_blocks(const_cast<void*>(out.memory), blocks, in_place);
    if (in_place) in_ = WEFT_IN_PLACE;
    return Why::served;
}

template <class Count, class Displacement>
Why PreparedCall::alltoallv(const BlocksOf<Count, Displacement>& in,
                            const BlocksOf<Count, Displacement>& out) {
    std::vector<Block> blocks;
    if (const Why why = blocks_of(out, blocks); why != Why::served) return why;
    const bool in_place = in.memory == MPI_IN_PLACE;
    if (in_place) {
        // The result overwrites the buffer, so a copy of the data is sent.
        read_blocks(out.memory, blocks);
        if (sent_ == nullptr) {
            std::size_t bytes = 0;
            for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
                in_blocks_.displacements[rank] = bytes;
                bytes += in_blocks_.counts[rank];
            }
            std::byte* to = make_room(sent_, bytes);
            in_ = to;
            for (const Block& block : blocks) {
                packings_.push_back({to, at(out.memory, block.at),
                                     static_cast<MPI_Count>(block.count), block.type,
                                     *block.facts});
                to += block.count * block.facts->size;
            }
        }
    } else {
        std::vector<Block> sent;
        if (const Why why = blocks_of(in, sent); why != Why::served) return why;
        read_blocks(in.memory, sent);
    }
    write_blocks(const_cast<void*>(out.memory), blocks, false);
    return Why::served;
}

#define WEFT_MPI_COUNTS(Count, Displacement)                                                      \
    template Why PreparedCall::gatherv(const Elements&, const BlocksOf<Count, Displacement>&,     \
                                       int);                                                      \
    template Why PreparedCall::scatterv(const BlocksOf<Count, Displacement>&, const Elements&,    \
                                        int);                                                     \
    template Why PreparedCall::allgatherv(const Elements&, const BlocksOf<Count, Displacement>&); \
    template Why PreparedCall::alltoallv(const BlocksOf<Count, Displacement>&,                    \
                                         const BlocksOf<Count, Displacement>&)

WEFT_MPI_COUNTS(int, int);
#if MPI_VERSION >= 4
WEFT_MPI_COUNTS(MPI_Count, MPI_Aint);
#endif
#undef WEFT_MPI_COUNTS

}  // namespace weft::mpi
