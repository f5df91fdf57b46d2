// SPDX-License-Identifier: BSD-3-Clause
// twin_calls.hpp - a collective call of MPI and the same call of PMPI, with equal buffers.
#pragma once

#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include <cstddef>
#include <cstring>
#include <vector>

#include "random_types.hpp"

namespace weft::test {

// --- cases ---------------------------------------------------------------------------------------

enum Call {
    kBarrier,
    kBcast,
    kAllreduce,
    kReduce,
    kScan,
    kExscan,
    kReduceScatterBlock,
    kReduceScatter,
    kGather,
    kScatter,
    kAllgather,
    kAlltoall,
    kGatherv,
    kScatterv,
    kAllgatherv,
    kAlltoallv,
    kAlltoallw,
    kCalls  ///< number of collectives
};
inline const char* const kNames[] = {"barrier",
                                     "bcast",
                                     "allreduce",
                                     "reduce",
                                     "scan",
                                     "exscan",
                                     "reduce_scatter_block",
                                     "reduce_scatter",
                                     "gather",
                                     "scatter",
                                     "allgather",
                                     "alltoall",
                                     "gatherv",
                                     "scatterv",
                                     "allgatherv",
                                     "alltoallv",
                                     "alltoallw"};

/// Arguments of a call: `in_places` and `out_places` are displacements.
struct Case {
    int call = kBarrier;
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    int size = 1;
    int root = 0;
    bool in_place = false;
    MPI_Op op = MPI_OP_NULL;
    int in_count = 0;
    int out_count = 0;
    MPI_Datatype in_type = MPI_DATATYPE_NULL;
    MPI_Datatype out_type = MPI_DATATYPE_NULL;
    std::vector<int> in_counts, in_places, out_counts, out_places;
    std::vector<MPI_Datatype> in_types, out_types;
    std::size_t compared = 0;          ///< bytes of each element to compare; 0: all bytes
    std::size_t stride = 0;            ///< bytes from an element to the next
    std::size_t gap = 0, gap_end = 0;  ///< bytes of each element that are not compared
    std::size_t part = 0;  ///< bytes of the real part of a complex number; 0: not complex
    Buffers in, out;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

/// Form of the call of MPI. The call of PMPI is then blocking or, for the other forms, started.
enum class Form { blocking, started, persistent };

#if MPI_VERSION >= 4
#define TWIN_INIT(Name) MPI_##Name##_init
#else
#define TWIN_INIT(Name) MPIX_##Name##_init
#endif
#define TWIN_PERSISTENT(Name, ...)                                                            \
    (TWIN_INIT(Name)(__VA_ARGS__, MPI_INFO_NULL, request) == MPI_SUCCESS ? MPI_Start(request) \
                                                                         : MPI_ERR_OTHER)
/// Calls PMPI if `host`, else MPI, in the form `form`.
#define TWIN(Name, Started, ...)                                                           \
    (form == Form::blocking  ? (host ? PMPI_##Name(__VA_ARGS__) : MPI_##Name(__VA_ARGS__)) \
     : host                  ? PMPI_##Started(__VA_ARGS__, request)                        \
     : form == Form::started ? MPI_##Started(__VA_ARGS__, request)                         \
                             : TWIN_PERSISTENT(Name, __VA_ARGS__))

inline int make_movement(Case& c, bool host, Form form, const void* in, void* out) {
    MPI_Request* const request = &c.requests[host ? 1 : 0];
    switch (c.call) {
        case kBcast:
            return TWIN(Bcast, Ibcast, out, c.out_count, c.out_type, c.root, c.comm);
        case kGather:
            return TWIN(Gather, Igather, in, c.in_count, c.in_type, out, c.out_count, c.out_type,
                        c.root, c.comm);
        case kScatter:
            return TWIN(Scatter, Iscatter, in, c.in_count, c.in_type, out, c.out_count, c.out_type,
                        c.root, c.comm);
        case kAllgather:
            return TWIN(Allgather, Iallgather, in, c.in_count, c.in_type, out, c.out_count,
                        c.out_type, c.comm);
        case kAlltoall:
            return TWIN(Alltoall, Ialltoall, in, c.in_count, c.in_type, out, c.out_count,
                        c.out_type, c.comm);
        case kGatherv:
            return TWIN(Gatherv, Igatherv, in, c.in_count, c.in_type, out, c.out_counts.data(),
                        c.out_places.data(), c.out_type, c.root, c.comm);
        case kScatterv:
            return TWIN(Scatterv, Iscatterv, in, c.in_counts.data(), c.in_places.data(), c.in_type,
                        out, c.out_count, c.out_type, c.root, c.comm);
        case kAllgatherv:
            return TWIN(Allgatherv, Iallgatherv, in, c.in_count, c.in_type, out,
                        c.out_counts.data(), c.out_places.data(), c.out_type, c.comm);
        case kAlltoallv:
            return TWIN(Alltoallv, Ialltoallv, in, c.in_counts.data(), c.in_places.data(),
                        c.in_type, out, c.out_counts.data(), c.out_places.data(), c.out_type,
                        c.comm);
        default:
            return TWIN(Alltoallw, Ialltoallw, in, c.in_counts.data(), c.in_places.data(),
                        c.in_types.data(), out, c.out_counts.data(), c.out_places.data(),
                        c.out_types.data(), c.comm);
    }
}

inline int make_call(Case& c, bool host, Form form) {
    MPI_Request* const request = &c.requests[host ? 1 : 0];
    const bool root = c.rank == c.root;
    const bool in_place =
        c.in_place && (root || (c.call != kReduce && c.call != kGather && c.call != kScatter &&
                                c.call != kGatherv && c.call != kScatterv));
    const bool scatters = c.call == kScatter || c.call == kScatterv;
    const void* const in = in_place && !scatters ? MPI_IN_PLACE : c.in.at(host);
    void* const out = in_place && scatters ? MPI_IN_PLACE : c.out.at(host);
    switch (c.call) {
        case kBarrier:
            return TWIN(Barrier, Ibarrier, c.comm);
        case kAllreduce:
            return TWIN(Allreduce, Iallreduce, in, out, c.out_count, c.out_type, c.op, c.comm);
        case kReduce:
            return TWIN(Reduce, Ireduce, in, out, c.out_count, c.out_type, c.op, c.root, c.comm);
        case kScan:
            return TWIN(Scan, Iscan, in, out, c.out_count, c.out_type, c.op, c.comm);
        case kExscan:
            return TWIN(Exscan, Iexscan, in, out, c.out_count, c.out_type, c.op, c.comm);
        case kReduceScatterBlock:
            return TWIN(Reduce_scatter_block, Ireduce_scatter_block, in, out, c.out_count,
                        c.out_type, c.op, c.comm);
        case kReduceScatter:
            return TWIN(Reduce_scatter, Ireduce_scatter, in, out, c.out_counts.data(), c.out_type,
                        c.op, c.comm);
        default:
            return make_movement(c, host, form, in, out);
    }
}

}  // namespace weft::test
