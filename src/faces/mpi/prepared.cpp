// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/prepared.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace weft::mpi {

namespace {

/// Allocates one byte more than `bytes`, so that 0 bytes have an address, too.
std::byte* make_room(std::unique_ptr<std::byte[]>& memory, std::size_t bytes) {
    memory = std::make_unique_for_overwrite<std::byte[]>(bytes + 1);
    return memory.get();
}

std::size_t sum(const std::vector<std::size_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

bool all_contiguous(const std::vector<Packing>& blocks) {
    return std::ranges::all_of(
        blocks, [](const Packing& block) { return block.count == 0 || block.facts.contiguous; });
}

/// Returns true if two blocks share bytes. MPI forbids this, but some programs do it, and it works.
bool overlap(const std::vector<Packing>& blocks) {
    std::vector<std::pair<const std::byte*, const std::byte*>> held;
    for (const Packing& block : blocks)
        if (block.bytes() != 0) held.emplace_back(block.memory, block.memory + block.bytes());
    if (!std::ranges::is_sorted(held)) std::ranges::sort(held);
    return std::ranges::adjacent_find(held, [](const auto& one, const auto& next) {
               return one.second > next.first;
           }) != held.end();
}

}  // namespace

bool PreparedCall::set_root(int root) {
    root_ = root;
    return root >= 0 && root < member_.size;
}

// --- equal blocks --------------------------------------------------------------------------------

/// Sets `times` blocks of the caller's data as input, and count_ to the bytes of a block. copies:
/// the call overwrites the caller's data, so its input must be a copy.
Why PreparedCall::read(const Elements& given, MPI_Count times, bool copies) {
    const TypeFacts* const facts = facts_for(given.count, given.type);
    if (facts == nullptr) return Why::arguments;
    count_ = bytes_of(given.count, *facts);
    in_ = given.memory;
    if (facts->contiguous && !copies) return Why::served;
    std::byte* const packed = make_room(sent_, count_ * static_cast<std::size_t>(times));
    packings_.push_back({packed, at(given.memory, 0), given.count * times, given.type, *facts});
    in_ = packed;
    return Why::served;
}

/// Sets `times` blocks of the caller's memory as output, and count_ to the bytes of a block.
/// keeps_own: this rank's own block is also input.
Why PreparedCall::write(const Elements& given, MPI_Count times, bool keeps_own) {
    const TypeFacts* const facts = facts_for(given.count, given.type);
    if (facts == nullptr) return Why::arguments;
    count_ = bytes_of(given.count, *facts);
    out_ = const_cast<void*>(given.memory);
    if (facts->contiguous) return Why::served;
    std::byte* const packed = make_room(received_, count_ * static_cast<std::size_t>(times));
    out_ = packed;
    if (keeps_own) {
        const MPI_Count before = given.count * member_.rank;
        packings_.push_back({packed + bytes_of(before, *facts),
                             at(given.memory, before * facts->extent), given.count, given.type,
                             *facts});
    }
    unpackings_.push_back({packed, at(given.memory, 0), given.count * times, given.type, *facts});
    return Why::served;
}

Why PreparedCall::read_all(const Elements& given, bool copies) {
    return read(given, member_.size, copies);
}

Why PreparedCall::write_all(const Elements& given, bool keeps_own) {
    return write(given, member_.size, keeps_own);
}

// --- blocks of different sizes -------------------------------------------------------------------

Why PreparedCall::blocks_of(const RankBlocks& given, std::vector<Packing>& blocks) const {
    if (!given.is_complete()) return Why::arguments;
    std::ptrdiff_t next = 0;
    for (int rank = 0; rank < member_.size; ++rank) {
        const MPI_Count count = given.count(rank);
        const MPI_Datatype type = given.types[given.own_types ? rank : 0];
        const TypeFacts* const facts = facts_for(count, type);
        if (facts == nullptr) return Why::arguments;
        std::ptrdiff_t place = next;
        if (given.has_displacements())
            place = given.displacement(rank) * (given.own_types ? 1 : facts->extent);
        next += static_cast<std::ptrdiff_t>(count) * facts->extent;
        blocks.push_back({nullptr, at(given.memory, place), count, type, *facts});
    }
    return Why::served;
}

/// Fills `table`, the counts and displacements of weft's call. Returns the address to which the
/// displacements refer: packed blocks in `room` if `packs`, else the lowest block, because MPI's
/// displacements may be negative or absolute.
std::byte* PreparedCall::lay_out(const std::vector<Packing>& blocks, bool packs, ByteBlocks& table,
                                 Room& room) {
    std::byte* low = nullptr;
    for (const Packing& block : blocks)
        if (block.bytes() != 0 && (low == nullptr || block.memory < low)) low = block.memory;
    if (low == nullptr) low = blocks.front().memory;
    std::size_t packed = 0;
    for (const Packing& block : blocks) {
        const std::size_t bytes = block.bytes();
        const auto place = bytes == 0 ? 0 : static_cast<std::size_t>(block.memory - low);
        table.counts.push_back(bytes);
        table.displacements.push_back(packs ? packed : place);
        packed += bytes;
    }
    return packs ? make_room(room, packed) : low;
}

Why PreparedCall::read_all(const RankBlocks& given, bool copies) {
    std::vector<Packing> blocks;
    if (const Why why = blocks_of(given, blocks); why != Why::served) return why;
    const bool packs = copies || !all_contiguous(blocks);
    std::byte* const memory = lay_out(blocks, packs, in_blocks_, sent_);
    in_ = memory;
    for (std::size_t rank = 0; packs && rank < blocks.size(); ++rank) {
        blocks[rank].packed = memory + in_blocks_.displacements[rank];
        packings_.push_back(blocks[rank]);
    }
    return Why::served;
}

Why PreparedCall::write_all(const RankBlocks& given, bool keeps_own) {
    std::vector<Packing> blocks;
    if (const Why why = blocks_of(given, blocks); why != Why::served) return why;
    const bool packs = !all_contiguous(blocks) || overlap(blocks);
    std::byte* const memory = lay_out(blocks, packs, out_blocks_, received_);
    out_ = memory;
    for (std::size_t rank = 0; packs && rank < blocks.size(); ++rank) {
        blocks[rank].packed = memory + out_blocks_.displacements[rank];
        unpackings_.push_back(blocks[rank]);
    }
    if (packs && keeps_own) packings_.push_back(blocks[static_cast<std::size_t>(member_.rank)]);
    return Why::served;
}

// --- movement ------------------------------------------------------------------------------------

Why PreparedCall::broadcast(const Elements& buffer, int root) {
    if (!set_root(root)) return Why::arguments;
    if (!root_is(root)) return write(buffer, 1);
    const Why why = read(buffer, 1);
    out_ = const_cast<void*>(in_);
    return why;
}

template <class Blocks>
Why PreparedCall::collect(const Elements& in, const Blocks& out, bool receives) {
    const bool in_place = in.memory == MPI_IN_PLACE;
    if (in_place && !receives) return Why::arguments;
    Why why = in_place ? Why::served : read(in, 1);
    if (why == Why::served && receives) why = write_all(out, in_place);
    if (in_place) in_ = WEFT_IN_PLACE;
    return why;
}

template <class Blocks>
Why PreparedCall::gather(const Elements& in, const Blocks& out, int root) {
    return set_root(root) ? collect(in, out, root_is(root)) : Why::arguments;
}

template <class Blocks>
Why PreparedCall::allgather(const Elements& in, const Blocks& out) {
    return collect(in, out, true);
}

template <class Blocks>
Why PreparedCall::scatter(const Blocks& in, const Elements& out, int root) {
    const bool in_place = out.memory == MPI_IN_PLACE;
    if (!set_root(root) || (in_place && !root_is(root))) return Why::arguments;
    Why why = in_place ? Why::served : write(out, 1);
    if (why == Why::served && root_is(root)) why = read_all(in);
    if (in_place) out_ = WEFT_IN_PLACE;
    return why;
}

/// In place, results overwrite the data, so a copy of the data is sent.
template <class Blocks>
Why PreparedCall::alltoall(const Blocks& in, const Blocks& out) {
    const bool in_place = in.memory == MPI_IN_PLACE;
    const Why why = read_all(in_place ? out : in, in_place);
    return why == Why::served ? write_all(out, false) : why;
}

#define WEFT_MPI_BLOCKS(Blocks)                                              \
    template Why PreparedCall::gather(const Elements&, const Blocks&, int);  \
    template Why PreparedCall::scatter(const Blocks&, const Elements&, int); \
    template Why PreparedCall::allgather(const Elements&, const Blocks&);    \
    template Why PreparedCall::alltoall(const Blocks&, const Blocks&)
WEFT_MPI_BLOCKS(Elements);
WEFT_MPI_BLOCKS(RankBlocks);
#undef WEFT_MPI_BLOCKS

// --- reductions ----------------------------------------------------------------------------------

/// MPI guarantees that all members give the same count, type and operation (MPI 4.0, 6.9.1).
Why PreparedCall::all_reduce(const void* in, const Elements& out, MPI_Op op) {
    in_ = in == MPI_IN_PLACE ? WEFT_IN_PLACE : in;
    out_ = const_cast<void*>(out.memory);
    if (out.count == 0) return Why::served;
    const TypeFacts* const facts = facts_for(out.count, out.type);
    if (facts == nullptr || op == MPI_OP_NULL) return Why::arguments;
    if (!facts->element) return Why::type;
    auto ours = operation_for(op, out.type, *facts);
    if (!ours) return Why::operation;
    op_ = ours->op;
    kept_operation_ = std::move(ours->keeps);
    type_ = *facts->element;
    element_bytes_ = facts->size;
    count_ = static_cast<std::size_t>(out.count);
    return Why::served;
}

Why PreparedCall::reduce(const void* in, const Elements& out, MPI_Op op, int root) {
    if (!set_root(root) || (in == MPI_IN_PLACE && !root_is(root))) return Why::arguments;
    return all_reduce(in, out, op);
}

Why PreparedCall::reduce_blocks(const void* in, const Elements& out, MPI_Op op) {
    const Why why = all_reduce(in, out, op);
    if (why == Why::served && in == MPI_IN_PLACE) separate_result(count_ * element_bytes_);
    return why;
}

/// Passes the sum of all counts, so the type is read unless all blocks are empty. MPI guarantees
/// equal counts on all members; the count of this rank's own block would not decide equally.
Why PreparedCall::reduce_scatter(const void* in, const RankBlocks& out, MPI_Op op) {
    if (!out.is_complete()) return Why::arguments;
    MPI_Count all = 0;
    for (int rank = 0; rank < member_.size; ++rank) {
        const MPI_Count count = out.count(rank);
        if (count < 0) return Why::arguments;
        in_blocks_.counts.push_back(static_cast<std::size_t>(count));
        all += count;
    }
    const Why why = all_reduce(in, {out.memory, all, *out.types}, op);
    if (why == Why::served && in == MPI_IN_PLACE)
        separate_result(in_blocks_.counts[static_cast<std::size_t>(member_.rank)] * element_bytes_);
    return why;
}

/// In place, MPI may only change the start of the buffer, which receives this rank's block of the
/// result. So the buffer is only input, and finish() copies the block to its start.
void PreparedCall::separate_result(std::size_t bytes) {
    in_ = out_;
    move_to_ = out_;
    move_bytes_ = bytes;
    out_ = make_room(received_, bytes);
}

// --- use -----------------------------------------------------------------------------------------

/// An error of packing is returned by finish(), because other members may already be in the call.
weft_status PreparedCall::run(weft_team* team, weft_request** request) {
    for (const Packing& one : packings_)
        if (const int error = one.pack(); error_ == MPI_SUCCESS) error_ = error;
    if (request != nullptr)
        for (Packing& one : unpackings_) one.keep();
    const std::size_t* const counts = out_blocks_.counts.data();
    const std::size_t* const places = out_blocks_.displacements.data();
    const std::size_t* const in_counts = in_blocks_.counts.data();
    const std::size_t* const in_places = in_blocks_.displacements.data();
#define WEFT_MPI_CALL(name, ...)                                             \
    return request == nullptr ? weft_##name(team __VA_OPT__(, ) __VA_ARGS__) \
                              : weft_i##name(team __VA_OPT__(, ) __VA_ARGS__, request)
    switch (kind_) {
        case CallKind::barrier:
            WEFT_MPI_CALL(barrier);
        case CallKind::broadcast:
            WEFT_MPI_CALL(broadcast, out_, count_, type_, root_);
        case CallKind::allreduce:
            WEFT_MPI_CALL(allreduce, in_, out_, count_, type_, op_);
        case CallKind::reduce:
            WEFT_MPI_CALL(reduce, in_, out_, count_, type_, op_, root_);
        case CallKind::gather:
            WEFT_MPI_CALL(gather, in_, out_, count_, type_, root_);
        case CallKind::scatter:
            WEFT_MPI_CALL(scatter, in_, out_, count_, type_, root_);
        case CallKind::allgather:
            WEFT_MPI_CALL(allgather, in_, out_, count_, type_);
        case CallKind::alltoall:
            WEFT_MPI_CALL(alltoall, in_, out_, count_, type_);
        case CallKind::reduce_scatter_block:
            WEFT_MPI_CALL(reduce_scatter, in_, out_, count_, type_, op_);
        case CallKind::scan:
            WEFT_MPI_CALL(scan, in_, out_, count_, type_, op_);
        case CallKind::exscan:
            WEFT_MPI_CALL(exscan, in_, out_, count_, type_, op_);
        case CallKind::gatherv:
            WEFT_MPI_CALL(gatherv, in_, count_, out_, counts, places, type_, root_);
        case CallKind::scatterv:
            WEFT_MPI_CALL(scatterv, in_, in_counts, in_places, out_, count_, type_, root_);
        case CallKind::allgatherv:
            WEFT_MPI_CALL(allgatherv, in_, out_, counts, places, type_);
        case CallKind::alltoallv:
        case CallKind::alltoallw:
            WEFT_MPI_CALL(alltoallv, in_, in_counts, in_places, out_, counts, places, type_);
        case CallKind::reduce_scatter:
            WEFT_MPI_CALL(reduce_scatterv, in_, out_, in_counts, type_, op_);
    }
#undef WEFT_MPI_CALL
    return WEFT_ERR_UNSUPPORTED;
}

int PreparedCall::finish() {
    for (Packing& one : unpackings_)
        if (const int error = one.unpack(); error_ == MPI_SUCCESS) error_ = error;
    if (move_bytes_ != 0) std::memcpy(move_to_, out_, move_bytes_);
    return error_;
}

std::size_t PreparedCall::bytes() const {
    const bool has_blocks = !in_blocks_.counts.empty();
    const bool has_equal_blocks =
        kind_ == CallKind::alltoall || kind_ == CallKind::reduce_scatter_block;
    const auto times = static_cast<std::size_t>(has_equal_blocks ? member_.size : 1);
    return (has_blocks ? sum(in_blocks_.counts) : count_ * times) * element_bytes_;
}

std::size_t PreparedCall::common_bytes() const {
    switch (kind_) {
        case CallKind::gatherv:
        case CallKind::scatterv:
        case CallKind::alltoallv:
        case CallKind::alltoallw:
            return 0;
        case CallKind::allgatherv:
            return sum(out_blocks_.counts);
        case CallKind::reduce_scatter:
            return sum(in_blocks_.counts) * element_bytes_;
        default:
            return count_ * element_bytes_;
    }
}

}  // namespace weft::mpi
