// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/prepared.hpp"

#include <cstring>
#include <numeric>
#include <utility>

namespace weft::mpi {

std::byte* PreparedCall::make_room(std::unique_ptr<std::byte[]>& memory, std::size_t bytes) {
    memory = std::make_unique_for_overwrite<std::byte[]>(bytes + 1);
    return memory.get();
}

/// Reads `times` blocks of the caller's data as input; count_ becomes the bytes of a block.
Why PreparedCall::read(const Elements& given, MPI_Count times) {
    const TypeFacts* const facts = facts_for(given.count, given.type);
    if (facts == nullptr) return Why::arguments;
    count_ = bytes_of(given.count, *facts);
    in_ = given.memory;
    if (facts->contiguous) return Why::served;
    std::byte* const packed = make_room(sent_, count_ * static_cast<std::size_t>(times));
    packings_.push_back({packed, given.memory, given.count * times, given.type, *facts});
    in_ = packed;
    return Why::served;
}

/// Uses `times` blocks of the caller's memory as output; count_ becomes the bytes of a block.
/// keeps_own: this rank's block there is also input.
Why PreparedCall::write(const Elements& given, MPI_Count times, bool keeps_own) {
    const TypeFacts* const facts = facts_for(given.count, given.type);
    if (facts == nullptr) return Why::arguments;
    count_ = bytes_of(given.count, *facts);
    out_ = const_cast<void*>(given.memory);
    if (facts->contiguous) return Why::served;
    out_ = make_room(received_, count_ * static_cast<std::size_t>(times));
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
    }
    if (root_is(root)) {
        if (const Why why = write(out, place_.size, in_place); why != Why::served) return why;
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
    }
    if (root_is(root)) {
        if (const Why why = read(in, place_.size); why != Why::served) return why;
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
    if (in_place) in_ = WEFT_IN_PLACE;
    return Why::served;
}

Why PreparedCall::alltoall(const Elements& in, const Elements& out) {
    const bool in_place = in.memory == MPI_IN_PLACE;
    if (!in_place) {
        if (const Why why = read(in, place_.size); why != Why::served) return why;
    }
    if (const Why why = write(out, place_.size); why != Why::served) return why;
    if (in_place) {
        const MPI_Count all = out.count * place_.size;
        std::byte* const copy = make_room(sent_, count_ * static_cast<std::size_t>(place_.size));
        packings_.push_back({copy, out.memory, all, out.type, *facts_for(out.count, out.type)});
        in_ = copy;
    }
    return Why::served;
}

// --- reductions ----------------------------------------------------------------------------------

/// MPI guarantees that all members give the same count, type and operation (MPI 4.0, 6.9.1).
Why PreparedCall::reduction(const void* in, const Elements& out, MPI_Op op) {
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
    if (why == Why::served && in == MPI_IN_PLACE) take_result_apart(count_ * element_bytes_);
    return why;
}

/// Reads the type only if the sum of `counts` is not 0. MPI guarantees equal counts on all members,
/// while this rank's own block may be empty.
template <class Count>
Why PreparedCall::reduce_scatter(const void* in, const Elements& out, const Count* counts,
                                 MPI_Op op) {
    if (counts == nullptr) return Why::arguments;
    MPI_Count all = 0;
    for (int rank = 0; rank < place_.size; ++rank) {
        if (counts[rank] < 0) return Why::arguments;
        in_blocks_.counts.push_back(static_cast<std::size_t>(counts[rank]));
        all += counts[rank];
    }
    const Why why = reduction(in, {out.memory, all, out.type}, op);
    if (why == Why::served && in == MPI_IN_PLACE)
        take_result_apart(in_blocks_.counts[static_cast<std::size_t>(place_.rank)] *
                          element_bytes_);
    return why;
}

/// In place, MPI changes only the start of the buffer, where the rank's block of the result
/// belongs. So the buffer is only input, and finish() copies the result to its start.
void PreparedCall::take_result_apart(std::size_t bytes) {
    in_ = out_;
    move_to_ = out_;
    move_bytes_ = bytes;
    out_ = make_room(received_, bytes);
}

template Why PreparedCall::reduce_scatter(const void*, const Elements&, const int*, MPI_Op);
#if MPI_VERSION >= 4
template Why PreparedCall::reduce_scatter(const void*, const Elements&, const MPI_Count*, MPI_Op);
#endif

// --- use -----------------------------------------------------------------------------------------

/// Makes the call of weft, blocking (weft_NAME) or started (weft_iNAME, with one more argument).
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

/// An error of the host is kept until the end, because other members may already be in the call.
void PreparedCall::begin() {
    for (const Packing& one : packings_)
        if (const int error = one.pack(); error_ == MPI_SUCCESS) error_ = error;
}

int PreparedCall::finish() {
    for (Unpacking& one : unpackings_)
        if (const int error = one.unpack(); error_ == MPI_SUCCESS) error_ = error;
    if (move_bytes_ != 0) std::memcpy(move_to_, out_, move_bytes_);
    return error_;
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
