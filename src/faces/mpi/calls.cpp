// SPDX-License-Identifier: BSD-3-Clause
// calls.cpp - the C entries of MPI that this library replaces.
//
// Idea     From a collective's parameter list and its function of PreparedCall, macros define the
//          blocking, the started and the persistent entry and, for MPI 4, those with long counts.
// Holds    All other entries of MPI are those of the host, the program's MPI library. Calls that
//          weft does not serve go to the host's PMPI function with unchanged arguments.
// Next     prepared.hpp for the meaning of arguments; fortran.cpp for Fortran.
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include <atomic>
#include <utility>

#include "faces/mpi/layer.hpp"

#define WEFT_MPI_ENTRY extern "C" __attribute__((visibility("default"))) int

namespace weft::mpi {

/// Defines the blocking, the started and the persistent entry of a collective; `Initialized` is the
/// name of the persistent entry. `key` has the arguments for a Shortcut (layer.hpp); `prepare`
/// calls a function of PreparedCall. The blocking entry is short and calls serve_Name(), which is
/// not inlined: it delays each call that the host serves.
#define WEFT_MPI_TRIPLE(...) WEFT_MPI_TRIPLE_OF(__VA_ARGS__)
#define WEFT_MPI_TRIPLE_OF(Name, Started, Initialized, kind, parameters, arguments, key, prepare) \
    static __attribute__((noinline)) int serve_##Name(WEFT_MPI_LIST parameters) {                 \
        return Layer::get().make<Form::blocking>(                                                 \
            CallKind::kind, Shortcut{WEFT_MPI_LIST key}, nullptr,                                 \
            [&](PreparedCall& call) -> Why { return call.prepare; },                              \
            [&] { return PMPI_##Name arguments; });                                               \
    }                                                                                             \
    WEFT_MPI_ENTRY MPI_##Name(WEFT_MPI_LIST parameters) {                                         \
        if (goes_to_host_at_once(CallKind::kind, {WEFT_MPI_LIST key}))                            \
            return PMPI_##Name arguments;                                                         \
        return serve_##Name arguments;                                                            \
    }                                                                                             \
    WEFT_MPI_LATER(started, MPI_##Started, PMPI_##Started, kind, prepare,                         \
                   (WEFT_MPI_LIST parameters, MPI_Request * request),                             \
                   (WEFT_MPI_LIST arguments, request))                                            \
    WEFT_MPI_LATER(persistent, WEFT_MPI_HOST(, Initialized), WEFT_MPI_HOST(P, Initialized), kind, \
                   prepare, (WEFT_MPI_LIST parameters, MPI_Info info, MPI_Request * request),     \
                   (WEFT_MPI_LIST arguments, info, request))
/// Defines an entry that sets `request`.
#define WEFT_MPI_LATER(form, entry, host, kind, prepare, parameters, arguments) \
    WEFT_MPI_ENTRY entry parameters {                                           \
        return Layer::get().make<Form::form>(                                   \
            CallKind::kind, Shortcut{comm}, request,                            \
            [&](PreparedCall& call) -> Why { return call.prepare; },            \
            [&] { return host arguments; });                                    \
    }
#define WEFT_MPI_LIST(...) __VA_ARGS__
/// Name of a persistent entry. Open MPI 4 has these entries of MPI 4 with another prefix.
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define WEFT_MPI_HOST(P, Name) P##MPI_##Name
#else
#define WEFT_MPI_HOST(P, Name) P##MPIX_##Name
#endif

/// Defines the entries of a collective whose parameters and arguments are `signature`, a macro
/// below, and those with long counts.
#define WEFT_MPI_FORMS(Name, Started, kind, signature, ...)                                   \
    WEFT_MPI_TRIPLE(Name, Started, Name##_init, kind, signature(int, int), __VA_ARGS__)       \
    WEFT_MPI_LONG(Name##_c, Started##_c, Name##_init_c, kind, signature(MPI_Count, MPI_Aint), \
                  __VA_ARGS__)
#if MPI_VERSION >= 4
#define WEFT_MPI_LONG(...) WEFT_MPI_TRIPLE(__VA_ARGS__)
#else
#define WEFT_MPI_LONG(...)
#endif

#define BCAST(Count, At)                                                     \
    (void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm), \
        (buffer, count, type, root, comm)
#define REDUCTION(Count, At)                                                               \
    (const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
        (in, out, count, type, op, comm)
#define REDUCE(Count, At)                                                            \
    (const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, int root, \
     MPI_Comm comm),                                                                 \
        (in, out, count, type, op, root, comm)
#define REDUCE_SCATTER(Count, At)                                                                  \
    (const void* in, void* out, const Count* counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
        (in, out, counts, type, op, comm)
#define MOVEMENT(Count, At)                                                            \
    (const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count, \
     MPI_Datatype out_type, MPI_Comm comm),                                            \
        (in, in_count, in_type, out, out_count, out_type, comm)
#define ROOTED(Count, At)                                                              \
    (const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count, \
     MPI_Datatype out_type, int root, MPI_Comm comm),                                  \
        (in, in_count, in_type, out, out_count, out_type, root, comm)
#define GATHERV(Count, At)                                                                 \
    (const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts, \
     const At* places, MPI_Datatype type, int root, MPI_Comm comm),                        \
        (in, in_count, in_type, out, counts, places, type, root, comm)
#define SCATTERV(Count, At)                                                               \
    (const void* in, const Count* counts, const At* places, MPI_Datatype type, void* out, \
     Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm),                    \
        (in, counts, places, type, out, out_count, out_type, root, comm)
#define ALLGATHERV(Count, At)                                                              \
    (const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts, \
     const At* places, MPI_Datatype type, MPI_Comm comm),                                  \
        (in, in_count, in_type, out, counts, places, type, comm)
#define ALLTOALLV(Count, At)                                                                       \
    (const void* in, const Count* in_counts, const At* in_places, MPI_Datatype in_type, void* out, \
     const Count* out_counts, const At* out_places, MPI_Datatype out_type, MPI_Comm comm),         \
        (in, in_counts, in_places, in_type, out, out_counts, out_places, out_type, comm)
#define ALLTOALLW(Count, At)                                                                    \
    (const void* in, const Count* in_counts, const At* in_places, const MPI_Datatype* in_types, \
     void* out, const Count* out_counts, const At* out_places, const MPI_Datatype* out_types,   \
     MPI_Comm comm),                                                                            \
        (in, in_counts, in_places, in_types, out, out_counts, out_places, out_types, comm)

WEFT_MPI_TRIPLE(Barrier, Ibarrier, Barrier_init, barrier, (MPI_Comm comm), (comm), (comm),
                barrier())
WEFT_MPI_FORMS(Bcast, Ibcast, broadcast, BCAST, (comm, count, type),
               broadcast({buffer, count, type}, root))
WEFT_MPI_FORMS(Allreduce, Iallreduce, allreduce, REDUCTION, (comm, count, type, op),
               all_reduce(in, {out, count, type}, op))
WEFT_MPI_FORMS(Reduce, Ireduce, reduce, REDUCE, (comm, count, type, op),
               reduce(in, {out, count, type}, op, root))
WEFT_MPI_FORMS(Scan, Iscan, scan, REDUCTION, (comm, count, type, op),
               all_reduce(in, {out, count, type}, op))
WEFT_MPI_FORMS(Exscan, Iexscan, exscan, REDUCTION, (comm, count, type, op),
               all_reduce(in, {out, count, type}, op))
WEFT_MPI_FORMS(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter_block, REDUCTION,
               (comm, count, type, op), reduce_blocks(in, {out, count, type}, op))
WEFT_MPI_FORMS(Reduce_scatter, Ireduce_scatter, reduce_scatter, REDUCE_SCATTER,
               (comm, Shortcut::kNever),
               reduce_scatter(in, RankBlocks(out, counts, counts, &type), op))
WEFT_MPI_FORMS(Gather, Igather, gather, ROOTED,
               (comm, in_count, in_type, MPI_OP_NULL, root, out_count, out_type),
               gather(Elements{in, in_count, in_type}, Elements{out, out_count, out_type}, root))
WEFT_MPI_FORMS(Scatter, Iscatter, scatter, ROOTED,
               (comm, in_count, in_type, MPI_OP_NULL, root, out_count, out_type),
               scatter(Elements{in, in_count, in_type}, Elements{out, out_count, out_type}, root))
WEFT_MPI_FORMS(Allgather, Iallgather, allgather, MOVEMENT, (comm, out_count, out_type),
               allgather(Elements{in, in_count, in_type}, Elements{out, out_count, out_type}))
WEFT_MPI_FORMS(Alltoall, Ialltoall, alltoall, MOVEMENT, (comm, out_count, out_type),
               alltoall(Elements{in, in_count, in_type}, Elements{out, out_count, out_type}))
WEFT_MPI_FORMS(Gatherv, Igatherv, gatherv, GATHERV, (comm),
               gather({in, in_count, in_type}, RankBlocks{out, counts, places, &type}, root))
WEFT_MPI_FORMS(Scatterv, Iscatterv, scatterv, SCATTERV, (comm),
               scatter(RankBlocks{in, counts, places, &type}, {out, out_count, out_type}, root))
WEFT_MPI_FORMS(Allgatherv, Iallgatherv, allgatherv, ALLGATHERV, (comm, Shortcut::kNever),
               allgather({in, in_count, in_type}, RankBlocks{out, counts, places, &type}))
WEFT_MPI_FORMS(Alltoallv, Ialltoallv, alltoallv, ALLTOALLV, (comm),
               alltoall(RankBlocks{in, in_counts, in_places, &in_type},
                        RankBlocks{out, out_counts, out_places, &out_type}))
WEFT_MPI_FORMS(Alltoallw, Ialltoallw, alltoallw, ALLTOALLW, (comm),
               alltoall(RankBlocks{in, in_counts, in_places, in_types, true},
                        RankBlocks{out, out_counts, out_places, out_types, true}))

// --- calls with neighbors ------------------------------------------------------------------------

// The displacements of neighbor_alltoallw are addresses in all its forms.
#define NEIGHBOR_ALLTOALLW(Count, At) ALLTOALLW(Count, MPI_Aint)

WEFT_MPI_FORMS(Neighbor_allgather, Ineighbor_allgather, neighbor_allgather, MOVEMENT,
               (comm, Shortcut::kNever),
               neighbor_allgather(Elements{in, in_count, in_type},
                                  Elements{out, out_count, out_type}))
WEFT_MPI_FORMS(Neighbor_alltoall, Ineighbor_alltoall, neighbor_alltoall, MOVEMENT,
               (comm, Shortcut::kNever),
               neighbor_alltoall(Elements{in, in_count, in_type},
                                 Elements{out, out_count, out_type}))
WEFT_MPI_FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, neighbor_allgatherv, ALLGATHERV,
               (comm, Shortcut::kNever),
               neighbor_allgather({in, in_count, in_type}, RankBlocks{out, counts, places, &type}))
WEFT_MPI_FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, neighbor_alltoallv, ALLTOALLV,
               (comm, Shortcut::kNever),
               neighbor_alltoall(RankBlocks{in, in_counts, in_places, &in_type},
                                 RankBlocks{out, out_counts, out_places, &out_type}))
WEFT_MPI_FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, neighbor_alltoallw, NEIGHBOR_ALLTOALLW,
               (comm, Shortcut::kNever),
               neighbor_alltoall(RankBlocks{in, in_counts, in_places, in_types, true},
                                 RankBlocks{out, out_counts, out_places, out_types, true}))

// --- operations and threads ----------------------------------------------------------------------

WEFT_MPI_ENTRY MPI_Op_create(MPI_User_function* function, int commutes, MPI_Op* op) {
    const int result = PMPI_Op_create(function, commutes, op);
    if (result == MPI_SUCCESS)
        note_user_operation(*op, reinterpret_cast<void (*)()>(function), Signature::c,
                            commutes != 0);
    return result;
}
#if MPI_VERSION >= 4
WEFT_MPI_ENTRY MPI_Op_create_c(MPI_User_function_c* function, int commutes, MPI_Op* op) {
    const int result = PMPI_Op_create_c(function, commutes, op);
    if (result == MPI_SUCCESS)
        note_user_operation(*op, reinterpret_cast<void (*)()>(function), Signature::large_count,
                            commutes != 0);
    return result;
}
#endif
WEFT_MPI_ENTRY MPI_Op_free(MPI_Op* op) {
    if (op == nullptr || !forget_user_operation(*op)) return PMPI_Op_free(op);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

WEFT_MPI_ENTRY MPI_Init(int* argc, char*** argv) {
    check_caller(__builtin_return_address(0));
    const int result = PMPI_Init(argc, argv);
    if (result == MPI_SUCCESS) Layer::get().begin(MPI_COMM_WORLD);
    return result;
}
WEFT_MPI_ENTRY MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    check_caller(__builtin_return_address(0));
    const int result = PMPI_Init_thread(argc, argv, required, provided);
    if (result == MPI_SUCCESS) Layer::get().begin(MPI_COMM_WORLD);
    return result;
}

// --- communicators -------------------------------------------------------------------------------

// All members of a new communicator are in the call that makes it, so its lane is made there.
#define WEFT_MPI_MAKES(Name, parameters, arguments)                                   \
    WEFT_MPI_ENTRY MPI_##Name(WEFT_MPI_LIST parameters, MPI_Comm* made) {             \
        const int result = PMPI_##Name(WEFT_MPI_LIST arguments, made);                \
        if (result == MPI_SUCCESS && Layer::get().begun()) Layer::get().adopt(*made); \
        return result;                                                                \
    }

WEFT_MPI_MAKES(Comm_dup, (MPI_Comm comm), (comm))
WEFT_MPI_MAKES(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info), (comm, info))
WEFT_MPI_MAKES(Comm_split, (MPI_Comm comm, int color, int key), (comm, color, key))
WEFT_MPI_MAKES(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info),
               (comm, type, key, info))
WEFT_MPI_MAKES(Comm_create, (MPI_Comm comm, MPI_Group group), (comm, group))
WEFT_MPI_MAKES(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag), (comm, group, tag))
WEFT_MPI_MAKES(Intercomm_merge, (MPI_Comm comm, int high), (comm, high))
WEFT_MPI_MAKES(Cart_create,
               (MPI_Comm comm, int count, const int* extents, const int* periods, int reorder),
               (comm, count, extents, periods, reorder))
WEFT_MPI_MAKES(Cart_sub, (MPI_Comm comm, const int* kept), (comm, kept))
WEFT_MPI_MAKES(Graph_create,
               (MPI_Comm comm, int nodes, const int* index, const int* edges, int reorder),
               (comm, nodes, index, edges, reorder))
WEFT_MPI_MAKES(Dist_graph_create,
               (MPI_Comm comm, int count, const int* sources, const int* degrees,
                const int* destinations, const int* weights, MPI_Info info, int reorder),
               (comm, count, sources, degrees, destinations, weights, info, reorder))
WEFT_MPI_MAKES(Dist_graph_create_adjacent,
               (MPI_Comm comm, int sources, const int* from, const int* in_weights,
                int destinations, const int* to, const int* out_weights, MPI_Info info,
                int reorder),
               (comm, sources, from, in_weights, destinations, to, out_weights, info, reorder))

#define WEFT_MPI_FREES(Name)                               \
    WEFT_MPI_ENTRY MPI_##Name(MPI_Comm* comm) {            \
        const MPI_Comm outer = freeing;                    \
        freeing = comm == nullptr ? MPI_COMM_NULL : *comm; \
        const int result = PMPI_##Name(comm);              \
        freeing = outer;                                   \
        return result;                                     \
    }
WEFT_MPI_FREES(Comm_free)
WEFT_MPI_FREES(Comm_disconnect)

#if MPI_VERSION >= 4

/// Returns the number of processes of the job.
static int processes_of_job() {
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Group all = MPI_GROUP_NULL;
    int count = 0;
    if (PMPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return 0;
    if (PMPI_Group_from_session_pset(session, "mpi://WORLD", &all) == MPI_SUCCESS) {
        PMPI_Group_size(all, &count);
        PMPI_Group_free(&all);
    }
    PMPI_Session_finalize(&session);
    return count;
}

/// Sessions of the program, and whether the layer has begun with one.
static std::atomic<int> sessions{0};
static bool began_in_session = false;

WEFT_MPI_ENTRY MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
    const int result = PMPI_Session_init(info, handler, session);
    if (result == MPI_SUCCESS) ++sessions;
    return result;
}
/// The last session ends MPI, and thus the layer, unless MPI_Init has been called.
WEFT_MPI_ENTRY MPI_Session_finalize(MPI_Session* session) {
    if (--sessions == 0 && std::exchange(began_in_session, false)) Layer::get().end();
    return PMPI_Session_finalize(session);
}
WEFT_MPI_ENTRY MPI_Comm_create_from_group(MPI_Group group, const char* tag, MPI_Info info,
                                          MPI_Errhandler handler, MPI_Comm* made) {
    check_caller(__builtin_return_address(0));
    const int result = PMPI_Comm_create_from_group(group, tag, info, handler, made);
    if (result != MPI_SUCCESS || *made == MPI_COMM_NULL) return result;
    int size = 0;
    PMPI_Comm_size(*made, &size);
    if (Layer::get().begun()) {
        Layer::get().adopt(*made);
    } else if (size == processes_of_job()) {
        began_in_session = true;
        Layer::get().begin(*made);
    }
    return result;
}

#endif

}  // namespace weft::mpi
