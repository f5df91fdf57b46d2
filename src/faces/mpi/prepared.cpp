// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/prepared.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

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

}  // namespace

bool PreparedCall::set_root(int root) {
    root_ = root;
    return root >= 0 && root < member_.size;
}

/// Allocates one byte more than `bytes`, so that the address is not null for 0 bytes.
std::byte* PreparedCall::CallData::make_room(std::size_t bytes) {
    packed = std::make_unique_for_overwrite<std::byte[]>(bytes + 1);
    memory = packed.get();
    return packed.get();
}

// --- data of a call ------------------------------------------------------------------------------

/// Sets `data` to `times` equal blocks of the caller's memory, and count_ to the bytes of a block.
/// copies: true if the call overwrites the caller's data, so that the input must be a copy.
Why PreparedCall::set(CallData& data, const Elements& given, MPI_Count times, bool copies) {
    const TypeFacts* const facts = facts_for(given.count, given.type);
    if (facts == nullptr) return Why::arguments;
    count_ = bytes_of(given.count, *facts);
    data.memory = const_cast<void*>(given.memory);
    if (facts->contiguous && !copies) return Why::served;
    std::byte* const packed = data.make_room(count_ * static_cast<std::size_t>(times));
    data.packings.push_back({packed, at(given.memory, 0), given.count * times, given.type, *facts});
    return Why::served;
}

Why PreparedCall::set_all(CallData& data, const Elements& given, bool copies) {
    return set(data, given, member_.size, copies);
}

template <class Count, class Displacement>
Why PreparedCall::set_all(CallData& data, const RankBlocks<Count, Displacement>& given,
                          bool copies) {
    if (given.counts == nullptr || given.types == nullptr ||
        (given.own_types && given.displacements == nullptr))
        return Why::arguments;
    const auto is_contiguous = [](const Packing& block) { return block.facts.contiguous; };
    std::vector<Packing> blocks;
    std::ptrdiff_t next = 0;
    for (int rank = 0; rank < member_.size; ++rank) {
        const MPI_Count count = given.counts[rank];
        const MPI_Datatype type = given.types[given.own_types ? rank : 0];
        const TypeFacts* const facts = facts_for(count, type);
        if (facts == nullptr) return Why::arguments;
        std::ptrdiff_t place = next;
        if (given.displacements != nullptr)
            place = given.displacements[rank] * (given.own_types ? 1 : facts->extent);
        next += static_cast<std::ptrdiff_t>(count) * facts->extent;
        blocks.push_back({nullptr, at(given.memory, place), count, type, *facts});
    }
    const bool packs = copies || !std::ranges::all_of(blocks, is_contiguous) ||
                       (&data == &out_ && overlap(blocks));
    lay_out(data, blocks, packs);
    return Why::served;
}

/// Sets `data` to blocks of different sizes. Displacements count from the packed data if `packs`,
/// else from the block with the lowest address: MPI's displacements may be negative or absolute.
void PreparedCall::lay_out(CallData& data, std::vector<Packing>& blocks, bool packs) {
    std::byte* low = nullptr;
    for (const Packing& block : blocks)
        if (block.bytes() != 0 && (low == nullptr || block.memory < low)) low = block.memory;
    data.memory = low != nullptr ? low : blocks.front().memory;
    std::size_t packed = 0;
    for (const Packing& block : blocks) {
        const std::size_t bytes = block.bytes();
        const auto place = bytes == 0 ? 0 : static_cast<std::size_t>(block.memory - low);
        data.counts.push_back(bytes);
        data.displacements.push_back(packs ? packed : place);
        packed += bytes;
    }
    if (!packs) return;
    std::byte* room = data.make_room(packed);
    for (Packing& block : blocks) {
        block.packed = room;
        room += block.bytes();
    }
    data.packings = std::move(blocks);
}

// --- movement ------------------------------------------------------------------------------------

Why PreparedCall::broadcast(const Elements& buffer, int root) {
    if (!set_root(root)) return Why::arguments;
    const Why why = set(root_is(root) ? in_ : out_, buffer, 1);
    if (root_is(root)) out_.memory = in_.memory;
    return why;
}

template <class Blocks>
Why PreparedCall::gather(const Elements& in, const Blocks& out, int root) {
    const bool in_place = in.memory == MPI_IN_PLACE;
    if (!set_root(root) || (in_place && !root_is(root))) return Why::arguments;
    Why why = in_place ? Why::served : set(in_, in, 1);
    if (why == Why::served && root_is(root)) why = set_all(out_, out);
    if (in_place) keep_own_block();
    return why;
}

/// In place, this rank's block of the output is also its input.
void PreparedCall::keep_own_block() {
    in_.memory = WEFT_IN_PLACE;
    if (out_.packings.empty()) return;
    const bool equal_blocks = out_.counts.empty();
    Packing own = out_.packings[equal_blocks ? 0 : static_cast<std::size_t>(member_.rank)];
    if (equal_blocks) {
        own.count /= member_.size;
        own.memory = at(own.memory, own.count * member_.rank * own.facts.extent);
        own.packed += own.bytes() * static_cast<std::size_t>(member_.rank);
    }
    in_.packings.push_back(own);
}

template <class Blocks>
Why PreparedCall::scatter(const Blocks& in, const Elements& out, int root) {
    const bool in_place = out.memory == MPI_IN_PLACE;
    if (!set_root(root) || (in_place && !root_is(root))) return Why::arguments;
    Why why = in_place ? Why::served : set(out_, out, 1);
    if (why == Why::served && root_is(root)) why = set_all(in_, in);
    if (in_place) out_.memory = WEFT_IN_PLACE;
    return why;
}

/// In place, results overwrite the data, so a copy of the data is sent.
template <class Blocks>
Why PreparedCall::alltoall(const Blocks& in, const Blocks& out) {
    const bool in_place = in.memory == MPI_IN_PLACE;
    const Why why = set_all(in_, in_place ? out : in, in_place);
    return why == Why::served ? set_all(out_, out) : why;
}

#define WEFT_MPI_BLOCKS(...)                                                      \
    template Why PreparedCall::gather(const Elements&, const __VA_ARGS__&, int);  \
    template Why PreparedCall::scatter(const __VA_ARGS__&, const Elements&, int); \
    template Why PreparedCall::alltoall(const __VA_ARGS__&, const __VA_ARGS__&)
WEFT_MPI_BLOCKS(Elements);
WEFT_MPI_BLOCKS(RankBlocks<int, int>);
WEFT_MPI_BLOCKS(RankBlocks<MPI_Count, MPI_Aint>);
#undef WEFT_MPI_BLOCKS

// --- reductions ----------------------------------------------------------------------------------

/// MPI guarantees that all members pass the same count, type and operation (MPI 4.0, 6.9.1).
Why PreparedCall::all_reduce(const void* in, const Elements& out, MPI_Op op) {
    in_.memory = in == MPI_IN_PLACE ? WEFT_IN_PLACE : const_cast<void*>(in);
    out_.memory = const_cast<void*>(out.memory);
    if (out.count == 0) return Why::served;
    const TypeFacts* const facts = facts_for(out.count, out.type);
    if (facts == nullptr || op == MPI_OP_NULL) return Why::arguments;
    if (!facts->element) return Why::type;
    const auto ours = operation_for(op, out.type, *facts, operation_);
    if (!ours) return Why::operation;
    op_ = *ours;
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

/// Passes the sum of all counts to all_reduce(), which does not read the type for a count of 0. All
/// members have equal counts, so all decide equally.
template <class Count>
Why PreparedCall::reduce_scatter(const void* in, void* out, const Count* counts, MPI_Datatype type,
                                 MPI_Op op) {
    if (counts == nullptr) return Why::arguments;
    MPI_Count all = 0;
    for (int rank = 0; rank < member_.size; ++rank) {
        if (counts[rank] < 0) return Why::arguments;
        in_.counts.push_back(static_cast<std::size_t>(counts[rank]));
        all += counts[rank];
    }
    const Why why = all_reduce(in, {out, all, type}, op);
    if (why == Why::served && in == MPI_IN_PLACE)
        separate_result(in_.counts[static_cast<std::size_t>(member_.rank)] * element_bytes_);
    return why;
}
template Why PreparedCall::reduce_scatter(const void*, void*, const int*, MPI_Datatype, MPI_Op);
template Why PreparedCall::reduce_scatter(const void*, void*, const MPI_Count*, MPI_Datatype,
                                          MPI_Op);

/// In place, MPI may only change the start of the buffer, which receives this rank's block of the
/// result. So the buffer is only input, and finish() copies the block to its start.
void PreparedCall::separate_result(std::size_t bytes) {
    in_.memory = out_.memory;
    std::byte* const packed = out_.make_room(bytes);
    out_.packings.push_back({packed,
                             at(in_.memory, 0),
                             static_cast<MPI_Count>(bytes),
                             MPI_BYTE,
                             {.size = 1, .extent = 1, .contiguous = true}});
}

// --- use -----------------------------------------------------------------------------------------

/// An error of packing is returned by finish(), because other members may already be in the call.
weft_status PreparedCall::run(weft_team* team, weft_request** request) {
    for (const Packing& one : in_.packings)
        if (const int error = one.pack(); error_ == MPI_SUCCESS) error_ = error;
    if (request != nullptr)
        for (Packing& one : out_.packings) one.keep();
    const void* const in = in_.memory;
    void* const out = out_.memory;
    const std::size_t* const in_counts = in_.counts.data();
    const std::size_t* const in_places = in_.displacements.data();
    const std::size_t* const counts = out_.counts.data();
    const std::size_t* const places = out_.displacements.data();
#define WEFT_MPI_CASE(kind, name, ...)                                           \
    case CallKind::kind:                                                         \
        return request == nullptr ? weft_##name(team __VA_OPT__(, ) __VA_ARGS__) \
                                  : weft_i##name(team __VA_OPT__(, ) __VA_ARGS__, request)
    switch (kind_) {
        WEFT_MPI_CASE(barrier, barrier);
        WEFT_MPI_CASE(broadcast, broadcast, out, count_, type_, root_);
        WEFT_MPI_CASE(allreduce, allreduce, in, out, count_, type_, op_);
        WEFT_MPI_CASE(reduce, reduce, in, out, count_, type_, op_, root_);
        WEFT_MPI_CASE(gather, gather, in, out, count_, type_, root_);
        WEFT_MPI_CASE(scatter, scatter, in, out, count_, type_, root_);
        WEFT_MPI_CASE(allgather, allgather, in, out, count_, type_);
        WEFT_MPI_CASE(alltoall, alltoall, in, out, count_, type_);
        WEFT_MPI_CASE(reduce_scatter_block, reduce_scatter, in, out, count_, type_, op_);
        WEFT_MPI_CASE(scan, scan, in, out, count_, type_, op_);
        WEFT_MPI_CASE(exscan, exscan, in, out, count_, type_, op_);
        WEFT_MPI_CASE(gatherv, gatherv, in, count_, out, counts, places, type_, root_);
        WEFT_MPI_CASE(scatterv, scatterv, in, in_counts, in_places, out, count_, type_, root_);
        WEFT_MPI_CASE(allgatherv, allgatherv, in, out, counts, places, type_);
        WEFT_MPI_CASE(alltoallv, alltoallv, in, in_counts, in_places, out, counts, places, type_);
        WEFT_MPI_CASE(alltoallw, alltoallv, in, in_counts, in_places, out, counts, places, type_);
        WEFT_MPI_CASE(reduce_scatter, reduce_scatterv, in, out, in_counts, type_, op_);
    }
#undef WEFT_MPI_CASE
    return WEFT_ERR_UNSUPPORTED;
}

int PreparedCall::finish() {
    for (Packing& one : out_.packings)
        if (const int error = one.unpack(); error_ == MPI_SUCCESS) error_ = error;
    return error_;
}

std::size_t PreparedCall::bytes() const {
    const bool has_blocks = !in_.counts.empty();
    const bool has_equal_blocks =
        kind_ == CallKind::alltoall || kind_ == CallKind::reduce_scatter_block;
    const auto times = static_cast<std::size_t>(has_equal_blocks ? member_.size : 1);
    return (has_blocks ? std::reduce(in_.counts.begin(), in_.counts.end()) : count_ * times) *
           element_bytes_;
}

std::size_t PreparedCall::common_bytes() const {
    switch (kind_) {
        case CallKind::gatherv:
        case CallKind::scatterv:
        case CallKind::alltoallv:
        case CallKind::alltoallw:
            return 0;
        case CallKind::allgatherv:
            return std::reduce(out_.counts.begin(), out_.counts.end());
        default:
            return count_ * element_bytes_;
    }
}

}  // namespace weft::mpi
