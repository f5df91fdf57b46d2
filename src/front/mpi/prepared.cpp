// SPDX-License-Identifier: BSD-3-Clause
#include "front/mpi/prepared.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>

namespace weft::mpi {

std::byte* PreparedCall::make_room(std::unique_ptr<std::byte[]>& memory, std::size_t bytes) {
    memory = std::make_unique_for_overwrite<std::byte[]>(bytes + 1);
    return memory.get();
}

/// `times` blocks of what the caller gives, as bytes.
Why PreparedCall::read(const Elements& given, MPI_Count times) {
    const TypeFacts* const facts = given.count < 0 ? nullptr : facts_of(given.type);
    if (facts == nullptr) return Why::arguments;
    in_ = given.memory;
    if (facts->contiguous) return Why::served;
    std::byte* const packed = make_room(sent_, bytes_of(given.count * times, *facts));
    packings_.push_back({packed, given.memory, given.count * times, given.type, *facts});
    in_ = packed;
    return Why::served;
}

/// The same for memory that gets something. keeps_own: the caller's block in it is input, too.
Why PreparedCall::write(const Elements& given, MPI_Count times, bool keeps_own) {
    const TypeFacts* const facts = given.count < 0 ? nullptr : facts_of(given.type);
    if (facts == nullptr) return Why::arguments;
    out_ = const_cast<void*>(given.memory);
    if (facts->contiguous) return Why::served;
    const std::size_t block = bytes_of(given.count, *facts);
    out_ = make_room(received_, block * static_cast<std::size_t>(times));
    if (keeps_own) {
        const MPI_Count before = given.count * place_.rank;
        packings_.push_back({received_.get() + bytes_of(before, *facts),
                             at(given.memory, before * facts->extent), given.count, given.type,
                             *facts});
    }
    unpackings_.push_back({received_.get(), const_cast<void*>(given.memory), given.count * times,
                           given.type, *facts});
    return Why::served;
}

// --- movement ------------------------------------------------------------------------------------

Why PreparedCall::broadcast(const Elements& buffer, int root) {
    if (!valid_root(root)) return Why::arguments;
    const Why why = root_is(root) ? read(buffer, 1) : write(buffer, 1);
    if (why != Why::served) return why;
    count_ = bytes_of(buffer.count, *facts_of(buffer.type));
    if (root_is(root)) out_ = const_cast<void*>(in_);
    root_ = root;
    return Why::served;
}

Why PreparedCall::gather(const Elements& in, const Elements& out, int root) {
    if (!valid_root(root)) return Why::arguments;
    const bool in_place = in.memory == MPI_IN_PLACE;
    if (in_place && !root_is(root)) return Why::arguments;
    if (!in_place) {
        if (const Why why = read(in, 1); why != Why::served) return why;
        count_ = bytes_of(in.count, *facts_of(in.type));
    }
    if (root_is(root)) {
        if (const Why why = write(out, place_.size, in_place); why != Why::served) return why;
        count_ = bytes_of(out.count, *facts_of(out.type));
        if (in_place) in_ = WEFT_IN_PLACE;
    }
    root_ = root;
    return Why::served;
}

Why PreparedCall::scatter(const Elements& in, const Elements& out, int root) {
    if (!valid_root(root)) return Why::arguments;
    const bool in_place = out.memory == MPI_IN_PLACE;
    if (in_place && !root_is(root)) return Why::arguments;
    if (!in_place) {
        if (const Why why = write(out, 1); why != Why::served) return why;
        count_ = bytes_of(out.count, *facts_of(out.type));
    }
    if (root_is(root)) {
        if (const Why why = read(in, place_.size); why != Why::served) return why;
        count_ = bytes_of(in.count, *facts_of(in.type));
        if (in_place) out_ = WEFT_IN_PLACE;
    }
    root_ = root;
    return Why::served;
}

Why PreparedCall::allgather(const Elements& in, const Elements& out) {
    const bool in_place = in.memory == MPI_IN_PLACE;
    if (!in_place) {
        if (const Why why = read(in, 1); why != Why::served) return why;
    }
    if (const Why why = write(out, place_.size, in_place); why != Why::served) return why;
    count_ = bytes_of(out.count, *facts_of(out.type));
    if (in_place) in_ = WEFT_IN_PLACE;
    return Why::served;
}

Why PreparedCall::alltoall(const Elements& in, const Elements& out) {
    const bool in_place = in.memory == MPI_IN_PLACE;
    if (!in_place) {
        if (const Why why = read(in, place_.size); why != Why::served) return why;
    }
    if (const Why why = write(out, place_.size); why != Why::served) return why;
    const TypeFacts& facts = *facts_of(out.type);
    count_ = bytes_of(out.count, facts);
    if (in_place) {
        const MPI_Count all = out.count * place_.size;
        std::byte* const copy = make_room(sent_, bytes_of(all, facts));
        packings_.push_back({copy, out.memory, all, out.type, facts});
        in_ = copy;
    }
    return Why::served;
}

// --- reductions ----------------------------------------------------------------------------------

Why PreparedCall::reduction(const void* in, const Elements& out, MPI_Op op) {
    const TypeFacts* const facts = out.count < 0 ? nullptr : facts_of(out.type);
    if (facts == nullptr || op == MPI_OP_NULL) return Why::arguments;
    if (!facts->element) return Why::type;
    const auto ours = operation_for(op, out.type, *facts);
    if (!ours) return Why::operation;
    op_ = *ours;
    type_ = *facts->element;
    element_bytes_ = facts->size;
    count_ = static_cast<std::size_t>(out.count);
    in_ = in == MPI_IN_PLACE ? WEFT_IN_PLACE : in;
    out_ = const_cast<void*>(out.memory);
    return Why::served;
}

Why PreparedCall::all_reduce(const void* in, const Elements& out, MPI_Op op) {
    return reduction(in, out, op);
}

Why PreparedCall::reduce(const void* in, const Elements& out, MPI_Op op, int root) {
    if (!valid_root(root) || (in == MPI_IN_PLACE && !root_is(root))) return Why::arguments;
    root_ = root;
    return reduction(in, out, op);
}

Why PreparedCall::reduce_blocks(const void* in, const Elements& out, MPI_Op op) {
    const Why why = reduction(in, out, op);
    if (why != Why::served || in != MPI_IN_PLACE) return why;
    move_bytes_ = count_ * element_bytes_;
    move_from_ = at(out_, place_.rank * static_cast<std::ptrdiff_t>(move_bytes_));
    return Why::served;
}

template <class Count>
Why PreparedCall::reduce_scatter(const void* in, const Elements& out, const Count* counts,
                                 MPI_Op op) {
    if (counts == nullptr) return Why::arguments;
    std::ptrdiff_t before = 0;
    for (int rank = 0; rank < place_.size; ++rank) {
        if (counts[rank] < 0) return Why::arguments;
        in_blocks_.counts.push_back(static_cast<std::size_t>(counts[rank]));
        if (rank < place_.rank) before += static_cast<std::ptrdiff_t>(counts[rank]);
    }
    const Why why = reduction(in, out, op);
    if (why != Why::served || in != MPI_IN_PLACE) return why;
    const std::size_t element = element_bytes_;
    move_bytes_ = in_blocks_.counts[static_cast<std::size_t>(place_.rank)] * element;
    move_from_ = at(out_, before * static_cast<std::ptrdiff_t>(element));
    return Why::served;
}

// --- blocks of different sizes -------------------------------------------------------------------

template <class Count, class Displacement>
Why PreparedCall::blocks_of(const BlocksOf<Count, Displacement>& given,
                            std::vector<Block>& blocks) const {
    if (given.counts == nullptr || given.types == nullptr ||
        (given.own_types && given.displacements == nullptr))
        return Why::arguments;
    std::ptrdiff_t next = 0;
    for (int rank = 0; rank < place_.size; ++rank) {
        Block block{.type = given.types[given.own_types ? rank : 0]};
        block.facts = given.counts[rank] < 0 ? nullptr : facts_of(block.type);
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

/// Whether two blocks share bytes: erroneous in MPI, but programs do it and get away with it.
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

/// The lowest offset of a block with data: displacements of MPI may be negative, ours are not.
template <class Blocks>
std::ptrdiff_t lowest(const Blocks& blocks) {
    std::ptrdiff_t low = 0;
    for (const auto& block : blocks) {
        if (block.count != 0) low = std::min(low, block.at);
    }
    return low;
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
        count_ = bytes_of(in.count, *facts_of(in.type));
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
        count_ = bytes_of(out.count, *facts_of(out.type));
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
        // What is there is sent, so a copy of it is.
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

#define WEFT_MPI_COUNTS(Count, Displacement)                                                       \
    template Why PreparedCall::reduce_scatter(const void*, const Elements&, const Count*, MPI_Op); \
    template Why PreparedCall::gatherv(const Elements&, const BlocksOf<Count, Displacement>&,      \
                                       int);                                                       \
    template Why PreparedCall::scatterv(const BlocksOf<Count, Displacement>&, const Elements&,     \
                                        int);                                                      \
    template Why PreparedCall::allgatherv(const Elements&, const BlocksOf<Count, Displacement>&);  \
    template Why PreparedCall::alltoallv(const BlocksOf<Count, Displacement>&,                     \
                                         const BlocksOf<Count, Displacement>&)

WEFT_MPI_COUNTS(int, int);
#if MPI_VERSION >= 4
WEFT_MPI_COUNTS(MPI_Count, MPI_Aint);
#endif
#undef WEFT_MPI_COUNTS

// --- use -----------------------------------------------------------------------------------------

/// The call of weft, blocking (weft_NAME) or started (weft_iNAME, one argument more).
#define WEFT_MPI_CALL(PREFIX, ...)                                                                 \
    const std::size_t* const counts = out_blocks_.counts.data();                                   \
    const std::size_t* const places = out_blocks_.displacements.data();                            \
    const std::size_t* const in_counts = in_blocks_.counts.data();                                 \
    const std::size_t* const in_places = in_blocks_.displacements.data();                          \
    switch (kind_) {                                                                               \
        case Kind::barrier:                                                                        \
            return PREFIX##barrier(team __VA_OPT__(, ) __VA_ARGS__);                               \
        case Kind::broadcast:                                                                      \
            return PREFIX##broadcast(team, out_, count_, type_, root_ __VA_OPT__(, ) __VA_ARGS__); \
        case Kind::allreduce:                                                                      \
            return PREFIX##allreduce(team, in_, out_, count_, type_,                               \
                                     op_ __VA_OPT__(, ) __VA_ARGS__);                              \
        case Kind::reduce:                                                                         \
            return PREFIX##reduce(team, in_, out_, count_, type_, op_,                             \
                                  root_ __VA_OPT__(, ) __VA_ARGS__);                               \
        case Kind::gather:                                                                         \
            return PREFIX##gather(team, in_, out_, count_, type_,                                  \
                                  root_ __VA_OPT__(, ) __VA_ARGS__);                               \
        case Kind::scatter:                                                                        \
            return PREFIX##scatter(team, in_, out_, count_, type_,                                 \
                                   root_ __VA_OPT__(, ) __VA_ARGS__);                              \
        case Kind::allgather:                                                                      \
            return PREFIX##allgather(team, in_, out_, count_, type_ __VA_OPT__(, ) __VA_ARGS__);   \
        case Kind::alltoall:                                                                       \
            return PREFIX##alltoall(team, in_, out_, count_, type_ __VA_OPT__(, ) __VA_ARGS__);    \
        case Kind::reduce_scatter_block:                                                           \
            return PREFIX##reduce_scatter(team, in_, out_, count_, type_,                          \
                                          op_ __VA_OPT__(, ) __VA_ARGS__);                         \
        case Kind::scan:                                                                           \
            return PREFIX##scan(team, in_, out_, count_, type_, op_ __VA_OPT__(, ) __VA_ARGS__);   \
        case Kind::exscan:                                                                         \
            return PREFIX##exscan(team, in_, out_, count_, type_, op_ __VA_OPT__(, ) __VA_ARGS__); \
        case Kind::gatherv:                                                                        \
            return PREFIX##gatherv(team, in_, count_, out_, counts, places, type_,                 \
                                   root_ __VA_OPT__(, ) __VA_ARGS__);                              \
        case Kind::scatterv:                                                                       \
            return PREFIX##scatterv(team, in_, in_counts, in_places, out_, count_, type_,          \
                                    root_ __VA_OPT__(, ) __VA_ARGS__);                             \
        case Kind::allgatherv:                                                                     \
            return PREFIX##allgatherv(team, in_, out_, counts, places,                             \
                                      type_ __VA_OPT__(, ) __VA_ARGS__);                           \
        case Kind::alltoallv:                                                                      \
        case Kind::alltoallw:                                                                      \
            return PREFIX##alltoallv(team, in_, in_counts, in_places, out_, counts, places,        \
                                     type_ __VA_OPT__(, ) __VA_ARGS__);                            \
        case Kind::reduce_scatter:                                                                 \
            return PREFIX##reduce_scatterv(team, in_, out_, in_counts, type_,                      \
                                           op_ __VA_OPT__(, ) __VA_ARGS__);                        \
    }                                                                                              \
    return WEFT_ERR_UNSUPPORTED

weft_status PreparedCall::run(weft_team* team) {
    begin();
    WEFT_MPI_CALL(weft_);
}

weft_status PreparedCall::start(weft_team* team, weft_request** request) {
    begin();
    for (Unpacking& one : unpackings_) one.keep();
    WEFT_MPI_CALL(weft_i, request);
}
#undef WEFT_MPI_CALL

void PreparedCall::begin() {
    for (const Packing& one : packings_) one.pack();
}

void PreparedCall::finish() {
    for (Unpacking& one : unpackings_) one.unpack();
    if (move_bytes_ != 0) std::memmove(out_, move_from_, move_bytes_);
}

std::size_t PreparedCall::bytes() const {
    std::size_t elements = count_;
    if (!in_blocks_.counts.empty()) {
        elements = 0;
        for (const std::size_t one : in_blocks_.counts) elements += one;
    } else if (kind_ == Kind::alltoall || kind_ == Kind::reduce_scatter_block) {
        elements *= static_cast<std::size_t>(place_.size);
    }
    return elements * element_bytes_;
}

std::size_t PreparedCall::common_bytes() const {
    const auto sum = [](const std::vector<std::size_t>& counts) {
        return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    };
    switch (kind_) {
        case Kind::gatherv:
        case Kind::scatterv:
        case Kind::alltoallv:
        case Kind::alltoallw:
            return 0;
        case Kind::allgatherv:
            return sum(out_blocks_.counts);
        case Kind::reduce_scatter:
            return sum(in_blocks_.counts) * element_bytes_;
        default:
            return count_ * element_bytes_;
    }
}

}  // namespace weft::mpi
