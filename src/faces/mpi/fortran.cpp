// SPDX-License-Identifier: BSD-3-Clause
// fortran.cpp - the Fortran entries of MPI that this library replaces.
//
// Why      Open MPI's Fortran library calls PMPI, so a C entry never sees these calls. MPICH's
//          calls the C entries, so MPICH needs no Fortran entries.
// Holds    Names follow gfortran, with a trailing underscore, for mpif.h and `use mpi`; others are
//          the names that the library of `use mpi_f08` calls. Calls without an entry here
//          (alltoallw, operations made in Fortran) go to the host on all ranks.
// Next     calls.cpp, whose entries do the work.
#include <dlfcn.h>
#include <mpi.h>

#if defined(OPEN_MPI)

namespace {

/// Returns the address of a common block by which the host marks a special address.
void* sentinel(const char* common) {
    return dlsym(RTLD_DEFAULT, common);
}

void* memory_of(void* given) {
    static void* const in_place = sentinel("mpi_fortran_in_place_");
    static void* const bottom = sentinel("mpi_fortran_bottom_");
    if (given != nullptr && given == in_place) return MPI_IN_PLACE;
    if (given != nullptr && given == bottom) return MPI_BOTTOM;
    return given;
}

MPI_Datatype type_of(const MPI_Fint* type) {
    return MPI_Type_f2c(*type);
}
MPI_Op op_of(const MPI_Fint* op) {
    return MPI_Op_f2c(*op);
}
void give(MPI_Fint* error, int result) {
    if (error != nullptr) *error = result;
}

}  // namespace

#define WEFT_FORTRAN_ENTRY extern "C" __attribute__((visibility("default"))) void
/// Defines an alias with the name that the library of mpi_f08 calls.
#define WEFT_FORTRAN_F08(name, ...) \
    WEFT_FORTRAN_ENTRY ompi_##name##_f(__VA_ARGS__) __attribute__((alias("mpi_" #name "_")));

/// Defines the blocking and the started entry. `parameters` and `arguments` are those
/// before the communicator.
#define WEFT_FORTRAN(name, Name, Started, parameters, arguments)                                   \
    WEFT_FORTRAN_ENTRY mpi_##name##_(WEFT_FORTRAN_LIST parameters, MPI_Fint* comm,                 \
                                     MPI_Fint* error) {                                            \
        give(error, MPI_##Name(WEFT_FORTRAN_LIST arguments, MPI_Comm_f2c(*comm)));                 \
    }                                                                                              \
    WEFT_FORTRAN_ENTRY mpi_i##name##_(WEFT_FORTRAN_LIST parameters, MPI_Fint* comm,                \
                                      MPI_Fint* request, MPI_Fint* error) {                        \
        MPI_Request made = MPI_REQUEST_NULL;                                                       \
        const int result = MPI_##Started(WEFT_FORTRAN_LIST arguments, MPI_Comm_f2c(*comm), &made); \
        if (result == MPI_SUCCESS) *request = MPI_Request_c2f(made);                               \
        give(error, result);                                                                       \
    }                                                                                              \
    WEFT_FORTRAN_F08(name, WEFT_FORTRAN_LIST parameters, MPI_Fint* comm, MPI_Fint* error)          \
    WEFT_FORTRAN_F08(i##name, WEFT_FORTRAN_LIST parameters, MPI_Fint* comm, MPI_Fint* request,     \
                     MPI_Fint* error)
#define WEFT_FORTRAN_LIST(...) __VA_ARGS__

WEFT_FORTRAN(bcast, Bcast, Ibcast, (void* buffer, MPI_Fint* count, MPI_Fint* type, MPI_Fint* root),
             (memory_of(buffer), *count, type_of(type), *root))

#define WEFT_FORTRAN_REDUCTION (void* in, void* out, MPI_Fint* count, MPI_Fint* type, MPI_Fint* op)
#define WEFT_FORTRAN_REDUCED (memory_of(in), memory_of(out), *count, type_of(type), op_of(op))
WEFT_FORTRAN(allreduce, Allreduce, Iallreduce, WEFT_FORTRAN_REDUCTION, WEFT_FORTRAN_REDUCED)
WEFT_FORTRAN(scan, Scan, Iscan, WEFT_FORTRAN_REDUCTION, WEFT_FORTRAN_REDUCED)
WEFT_FORTRAN(exscan, Exscan, Iexscan, WEFT_FORTRAN_REDUCTION, WEFT_FORTRAN_REDUCED)
WEFT_FORTRAN(reduce_scatter_block, Reduce_scatter_block, Ireduce_scatter_block,
             WEFT_FORTRAN_REDUCTION, WEFT_FORTRAN_REDUCED)
WEFT_FORTRAN(reduce_scatter, Reduce_scatter, Ireduce_scatter,
             (void* in, void* out, MPI_Fint* counts, MPI_Fint* type, MPI_Fint* op),
             (memory_of(in), memory_of(out), counts, type_of(type), op_of(op)))
WEFT_FORTRAN(reduce, Reduce, Ireduce,
             (void* in, void* out, MPI_Fint* count, MPI_Fint* type, MPI_Fint* op, MPI_Fint* root),
             (memory_of(in), memory_of(out), *count, type_of(type), op_of(op), *root))

#define WEFT_FORTRAN_MOVEMENT                                                        \
    void *in, MPI_Fint *in_count, MPI_Fint *in_type, void *out, MPI_Fint *out_count, \
        MPI_Fint *out_type
#define WEFT_FORTRAN_MOVED \
    memory_of(in), *in_count, type_of(in_type), memory_of(out), *out_count, type_of(out_type)
WEFT_FORTRAN(gather, Gather, Igather, (WEFT_FORTRAN_MOVEMENT, MPI_Fint* root),
             (WEFT_FORTRAN_MOVED, *root))
WEFT_FORTRAN(scatter, Scatter, Iscatter, (WEFT_FORTRAN_MOVEMENT, MPI_Fint* root),
             (WEFT_FORTRAN_MOVED, *root))
WEFT_FORTRAN(allgather, Allgather, Iallgather, (WEFT_FORTRAN_MOVEMENT), (WEFT_FORTRAN_MOVED))
WEFT_FORTRAN(alltoall, Alltoall, Ialltoall, (WEFT_FORTRAN_MOVEMENT), (WEFT_FORTRAN_MOVED))
WEFT_FORTRAN(gatherv, Gatherv, Igatherv,
             (void* in, MPI_Fint* in_count, MPI_Fint* in_type, void* out, MPI_Fint* counts,
              MPI_Fint* places, MPI_Fint* type, MPI_Fint* root),
             (memory_of(in), *in_count, type_of(in_type), memory_of(out), counts, places,
              type_of(type), *root))
WEFT_FORTRAN(scatterv, Scatterv, Iscatterv,
             (void* in, MPI_Fint* counts, MPI_Fint* places, MPI_Fint* type, void* out,
              MPI_Fint* out_count, MPI_Fint* out_type, MPI_Fint* root),
             (memory_of(in), counts, places, type_of(type), memory_of(out), *out_count,
              type_of(out_type), *root))
WEFT_FORTRAN(allgatherv, Allgatherv, Iallgatherv,
             (void* in, MPI_Fint* in_count, MPI_Fint* in_type, void* out, MPI_Fint* counts,
              MPI_Fint* places, MPI_Fint* type),
             (memory_of(in), *in_count, type_of(in_type), memory_of(out), counts, places,
              type_of(type)))
WEFT_FORTRAN(alltoallv, Alltoallv, Ialltoallv,
             (void* in, MPI_Fint* in_counts, MPI_Fint* in_places, MPI_Fint* in_type, void* out,
              MPI_Fint* out_counts, MPI_Fint* out_places, MPI_Fint* out_type),
             (memory_of(in), in_counts, in_places, type_of(in_type), memory_of(out), out_counts,
              out_places, type_of(out_type)))

// The host's Fortran entries call PMPI_Init, which the layer does not intercept.
WEFT_FORTRAN_ENTRY mpi_init_(MPI_Fint* error) {
    give(error, MPI_Init(nullptr, nullptr));
}
WEFT_FORTRAN_ENTRY mpi_init_thread_(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error) {
    give(error, MPI_Init_thread(nullptr, nullptr, *required, provided));
}
WEFT_FORTRAN_F08(init, MPI_Fint* error)
WEFT_FORTRAN_F08(init_thread, MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error)

WEFT_FORTRAN_ENTRY mpi_barrier_(MPI_Fint* comm, MPI_Fint* error) {
    give(error, MPI_Barrier(MPI_Comm_f2c(*comm)));
}
WEFT_FORTRAN_ENTRY mpi_ibarrier_(MPI_Fint* comm, MPI_Fint* request, MPI_Fint* error) {
    MPI_Request made = MPI_REQUEST_NULL;
    const int result = MPI_Ibarrier(MPI_Comm_f2c(*comm), &made);
    if (result == MPI_SUCCESS) *request = MPI_Request_c2f(made);
    give(error, result);
}
WEFT_FORTRAN_F08(barrier, MPI_Fint* comm, MPI_Fint* error)
WEFT_FORTRAN_F08(ibarrier, MPI_Fint* comm, MPI_Fint* request, MPI_Fint* error)

#endif
