// SPDX-License-Identifier: BSD-3-Clause
// fortran.cpp - the Fortran entries of MPI that this library replaces.
//
// Why      Open MPI's Fortran library calls PMPI functions, which bypass the layer's C entries.
//          MPICH's Fortran library calls the C entries, so MPICH needs no Fortran entries.
// Holds    Entries have gfortran's names for mpif.h and `use mpi` (mpi_*_), and aliases with the
//          names that the library of `use mpi_f08` calls (ompi_*_f).
// Next     calls.cpp, whose entries do the work.
#include <dlfcn.h>
#include <mpi.h>

#include <type_traits>
#include <vector>

#include "faces/mpi/layer.hpp"
#include "faces/mpi/types.hpp"

#if defined(OPEN_MPI)

namespace {

/// Converts Fortran's MPI_IN_PLACE and MPI_BOTTOM, addresses of common blocks, to C's constants.
void* memory_of(void* given) {
    static void* const in_place = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
    static void* const bottom = dlsym(RTLD_DEFAULT, "mpi_fortran_bottom_");
    if (given != nullptr && given == in_place) return MPI_IN_PLACE;
    if (given != nullptr && given == bottom) return MPI_BOTTOM;
    return given;
}

/// Converts an argument of Fortran, which is always an address, to an argument of C.
template <class Parameter>
Parameter from(void* given) {
    auto* const word = static_cast<MPI_Fint*>(given);
    if constexpr (std::is_same_v<Parameter, MPI_Datatype>) return MPI_Type_f2c(*word);
    if constexpr (std::is_same_v<Parameter, MPI_Op>) return MPI_Op_f2c(*word);
    if constexpr (std::is_same_v<Parameter, MPI_Comm>) return MPI_Comm_f2c(*word);
    if constexpr (std::is_same_v<Parameter, int>) return *word;
    if constexpr (std::is_pointer_v<Parameter>) return static_cast<Parameter>(memory_of(given));
}

void set_error(MPI_Fint* error, int result) {
    if (error != nullptr) *error = result;
}

/// Returns the number of ranks that get data from this rank in an alltoallw.
int ranks_of(void* comm) {
    const MPI_Comm given = from<MPI_Comm>(comm);
    int inter = 0;
    int size = 0;
    PMPI_Comm_test_inter(given, &inter);
    inter != 0 ? PMPI_Comm_remote_size(given, &size) : PMPI_Comm_size(given, &size);
    return size;
}
template <const weft::mpi::Entries& (weft::mpi::Neighborhood::*kSide)() const>
int neighbors_of(void* comm) {
    const auto all = weft::mpi::Neighborhood::of(from<MPI_Comm>(comm));
    return all == nullptr ? 0 : static_cast<int>((all.get()->*kSide)().of_block.size());
}

/// Converts a type for each of `count` ranks. With MPI_IN_PLACE, they are not significant.
std::vector<MPI_Datatype> types_from(void* given, int count, void* memory) {
    std::vector<MPI_Datatype> types;
    if (memory_of(memory) == MPI_IN_PLACE) return types;
    for (int i = 0; i < count; ++i) types.push_back(MPI_Type_f2c(static_cast<MPI_Fint*>(given)[i]));
    return types;
}

template <class... Parameters, class... Given>
int call(int (*function)(Parameters...), Given*... given) {
    return function(from<Parameters>(given)...);
}

}  // namespace

#define WEFT_FORTRAN_ENTRY extern "C" __attribute__((visibility("default"))) void
/// Defines the alias for mpi_f08.
#define WEFT_FORTRAN_F08(name, ...) \
    WEFT_FORTRAN_ENTRY ompi_##name##_f(__VA_ARGS__) __attribute__((alias("mpi_" #name "_")));

/// Defines the blocking and the started entry. The last argument, WEFT_FORTRAN_n, is the list of
/// the n parameters of the blocking entry.
#define WEFT_FORTRAN(name, Name, Started, ...) WEFT_FORTRAN_PAIR(name, Name, Started, __VA_ARGS__)
#define WEFT_FORTRAN_PAIR(name, Name, Started, parameters, arguments)                  \
    WEFT_FORTRAN_ENTRY mpi_##name##_(WEFT_FORTRAN_LIST parameters, MPI_Fint* error) {  \
        set_error(error, call(MPI_##Name, WEFT_FORTRAN_LIST arguments));               \
    }                                                                                  \
    WEFT_FORTRAN_ENTRY mpi_i##name##_(WEFT_FORTRAN_LIST parameters, MPI_Fint* request, \
                                      MPI_Fint* error) {                               \
        MPI_Request made = MPI_REQUEST_NULL;                                           \
        const int result = call(MPI_##Started, WEFT_FORTRAN_LIST arguments, &made);    \
        if (result == MPI_SUCCESS) *request = MPI_Request_c2f(made);                   \
        set_error(error, result);                                                      \
    }                                                                                  \
    WEFT_FORTRAN_F08(name, WEFT_FORTRAN_LIST parameters, MPI_Fint* error)              \
    WEFT_FORTRAN_F08(i##name, WEFT_FORTRAN_LIST parameters, MPI_Fint* request, MPI_Fint* error)
#define WEFT_FORTRAN_LIST(...) __VA_ARGS__

#define WEFT_FORTRAN_1 (void* a), (a)
#define WEFT_FORTRAN_2 (void* a, void* b), (a, b)
#define WEFT_FORTRAN_3 (void* a, void* b, void* c), (a, b, c)
#define WEFT_FORTRAN_4 (void* a, void* b, void* c, void* d), (a, b, c, d)
#define WEFT_FORTRAN_5 (void* a, void* b, void* c, void* d, void* e), (a, b, c, d, e)
#define WEFT_FORTRAN_6 (void* a, void* b, void* c, void* d, void* e, void* f), (a, b, c, d, e, f)
#define WEFT_FORTRAN_7 \
    (void* a, void* b, void* c, void* d, void* e, void* f, void* g), (a, b, c, d, e, f, g)
#define WEFT_FORTRAN_8                                                        \
    (void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h), \
        (a, b, c, d, e, f, g, h)
#define WEFT_FORTRAN_9                                                                 \
    (void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h, void* i), \
        (a, b, c, d, e, f, g, h, i)
// A type for each of `into` ranks that receive, and of `out_of` ranks that send.
#define WEFT_FORTRAN_TYPES(into, out_of)                                                         \
    (void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h, void* i),           \
        (a, b, c, types_from(d, into(i), a).data(), e, f, g, types_from(h, out_of(i), e).data(), \
         i)

WEFT_FORTRAN(barrier, Barrier, Ibarrier, WEFT_FORTRAN_1)
WEFT_FORTRAN(bcast, Bcast, Ibcast, WEFT_FORTRAN_5)
WEFT_FORTRAN(allreduce, Allreduce, Iallreduce, WEFT_FORTRAN_6)
WEFT_FORTRAN(scan, Scan, Iscan, WEFT_FORTRAN_6)
WEFT_FORTRAN(exscan, Exscan, Iexscan, WEFT_FORTRAN_6)
WEFT_FORTRAN(reduce_scatter_block, Reduce_scatter_block, Ireduce_scatter_block, WEFT_FORTRAN_6)
WEFT_FORTRAN(reduce_scatter, Reduce_scatter, Ireduce_scatter, WEFT_FORTRAN_6)
WEFT_FORTRAN(reduce, Reduce, Ireduce, WEFT_FORTRAN_7)
WEFT_FORTRAN(allgather, Allgather, Iallgather, WEFT_FORTRAN_7)
WEFT_FORTRAN(alltoall, Alltoall, Ialltoall, WEFT_FORTRAN_7)
WEFT_FORTRAN(gather, Gather, Igather, WEFT_FORTRAN_8)
WEFT_FORTRAN(scatter, Scatter, Iscatter, WEFT_FORTRAN_8)
WEFT_FORTRAN(allgatherv, Allgatherv, Iallgatherv, WEFT_FORTRAN_8)
WEFT_FORTRAN(gatherv, Gatherv, Igatherv, WEFT_FORTRAN_9)
WEFT_FORTRAN(scatterv, Scatterv, Iscatterv, WEFT_FORTRAN_9)
WEFT_FORTRAN(alltoallv, Alltoallv, Ialltoallv, WEFT_FORTRAN_9)
WEFT_FORTRAN(alltoallw, Alltoallw, Ialltoallw, WEFT_FORTRAN_TYPES(ranks_of, ranks_of))

WEFT_FORTRAN(neighbor_allgather, Neighbor_allgather, Ineighbor_allgather, WEFT_FORTRAN_7)
WEFT_FORTRAN(neighbor_alltoall, Neighbor_alltoall, Ineighbor_alltoall, WEFT_FORTRAN_7)
WEFT_FORTRAN(neighbor_allgatherv, Neighbor_allgatherv, Ineighbor_allgatherv, WEFT_FORTRAN_8)
WEFT_FORTRAN(neighbor_alltoallv, Neighbor_alltoallv, Ineighbor_alltoallv, WEFT_FORTRAN_9)
WEFT_FORTRAN(neighbor_alltoallw, Neighbor_alltoallw, Ineighbor_alltoallw,
             WEFT_FORTRAN_TYPES(neighbors_of<&weft::mpi::Neighborhood::destinations>,
                                neighbors_of<&weft::mpi::Neighborhood::sources>))

namespace {

/// Calls the host's Fortran entry that makes a communicator, and adds its state to the layer.
template <class... Given>
void make_comm(const char* entry, MPI_Fint* made, MPI_Fint* error, Given... given) {
    using Entry = void (*)(Given..., MPI_Fint*, MPI_Fint*);
    const auto make = reinterpret_cast<Entry>(dlsym(RTLD_DEFAULT, entry));
    MPI_Fint result = MPI_ERR_OTHER;
    if (make != nullptr) make(given..., made, &result);
    weft::mpi::Layer& layer = weft::mpi::Layer::get();
    if (result == MPI_SUCCESS && layer.begun()) layer.adopt(MPI_Comm_f2c(*made));
    set_error(error, result);
}

}  // namespace

#define WEFT_FORTRAN_MAKES(name, ...) WEFT_FORTRAN_MAKES_PAIR(name, __VA_ARGS__)
#define WEFT_FORTRAN_MAKES_PAIR(name, parameters, arguments)                       \
    WEFT_FORTRAN_ENTRY mpi_##name##_(WEFT_FORTRAN_LIST parameters, MPI_Fint* made, \
                                     MPI_Fint* error) {                            \
        make_comm("pmpi_" #name "_", made, error, WEFT_FORTRAN_LIST arguments);    \
    }                                                                              \
    WEFT_FORTRAN_F08(name, WEFT_FORTRAN_LIST parameters, MPI_Fint* made, MPI_Fint* error)
WEFT_FORTRAN_MAKES(comm_dup, WEFT_FORTRAN_1)
WEFT_FORTRAN_MAKES(comm_dup_with_info, WEFT_FORTRAN_2)
WEFT_FORTRAN_MAKES(comm_create, WEFT_FORTRAN_2)
WEFT_FORTRAN_MAKES(cart_sub, WEFT_FORTRAN_2)
WEFT_FORTRAN_MAKES(intercomm_merge, WEFT_FORTRAN_2)
WEFT_FORTRAN_MAKES(comm_split, WEFT_FORTRAN_3)
WEFT_FORTRAN_MAKES(comm_create_group, WEFT_FORTRAN_3)
WEFT_FORTRAN_MAKES(comm_split_type, WEFT_FORTRAN_4)
WEFT_FORTRAN_MAKES(cart_create, WEFT_FORTRAN_5)
WEFT_FORTRAN_MAKES(graph_create, WEFT_FORTRAN_5)
WEFT_FORTRAN_MAKES(dist_graph_create, WEFT_FORTRAN_8)
WEFT_FORTRAN_MAKES(dist_graph_create_adjacent, WEFT_FORTRAN_9)

WEFT_FORTRAN_ENTRY mpi_comm_free_(MPI_Fint* comm, MPI_Fint* error) {
    MPI_Comm freed = MPI_Comm_f2c(*comm);
    const int result = MPI_Comm_free(&freed);
    if (result == MPI_SUCCESS) *comm = MPI_Comm_c2f(freed);
    set_error(error, result);
}
WEFT_FORTRAN_F08(comm_free, MPI_Fint* comm, MPI_Fint* error)

WEFT_FORTRAN_ENTRY mpi_op_create_(void (*function)(), MPI_Fint* commutes, MPI_Fint* op,
                                  MPI_Fint* error) {
    using Create = void (*)(void (*)(), MPI_Fint*, MPI_Fint*, MPI_Fint*);
    static const auto create = reinterpret_cast<Create>(dlsym(RTLD_DEFAULT, "pmpi_op_create_"));
    MPI_Fint result = MPI_ERR_OTHER;
    if (create != nullptr) create(function, commutes, op, &result);
    if (result == MPI_SUCCESS)
        weft::mpi::note_user_operation(MPI_Op_f2c(*op), function, weft::mpi::Signature::fortran,
                                       *commutes != 0);
    set_error(error, result);
}
WEFT_FORTRAN_ENTRY mpi_op_free_(MPI_Fint* op, MPI_Fint* error) {
    MPI_Op freed = MPI_Op_f2c(*op);
    const int result = MPI_Op_free(&freed);
    if (result == MPI_SUCCESS) *op = MPI_Op_c2f(MPI_OP_NULL);
    set_error(error, result);
}
WEFT_FORTRAN_F08(op_create, void (*function)(), MPI_Fint* commutes, MPI_Fint* op, MPI_Fint* error)
WEFT_FORTRAN_F08(op_free, MPI_Fint* op, MPI_Fint* error)

// The host's Fortran entries call PMPI_Init, which the layer does not intercept.
WEFT_FORTRAN_ENTRY mpi_init_(MPI_Fint* error) {
    set_error(error, MPI_Init(nullptr, nullptr));
}
WEFT_FORTRAN_ENTRY mpi_init_thread_(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error) {
    set_error(error, MPI_Init_thread(nullptr, nullptr, *required, provided));
}
WEFT_FORTRAN_F08(init, MPI_Fint* error)
WEFT_FORTRAN_F08(init_thread, MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error)

#endif
