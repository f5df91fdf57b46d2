// SPDX-License-Identifier: BSD-3-Clause
// collectives.cpp - the collective routines of teams and of active sets.
#include <type_traits>

#include "faces/shmem/collective.hpp"

namespace weft::shmem {

namespace {

/// Returns weft's type for a C type.
template <class T>
constexpr weft_type type_of() {
    if constexpr (std::is_same_v<T, float>)
        return WEFT_FLOAT;
    else if constexpr (std::is_same_v<T, double>)
        return WEFT_DOUBLE;
    else if constexpr (std::is_same_v<T, long double>)
        return WEFT_LONGDOUBLE;
    else if constexpr (std::is_same_v<T, float _Complex>)
        return WEFT_CFLOAT;
    else if constexpr (std::is_same_v<T, double _Complex>)
        return WEFT_CDOUBLE;
    else if constexpr (std::is_signed_v<T>)
        return sizeof(T) == 1   ? WEFT_INT8
               : sizeof(T) == 2 ? WEFT_INT16
               : sizeof(T) == 4 ? WEFT_INT32
                                : WEFT_INT64;
    else
        return sizeof(T) == 1   ? WEFT_UINT8
               : sizeof(T) == 2 ? WEFT_UINT16
               : sizeof(T) == 4 ? WEFT_UINT32
                                : WEFT_UINT64;
}

/// Returns the team of a handle. If the handle is invalid, prints the reason and returns nullptr.
const weft_shmem_team* find_or_report(const char* routine, shmem_team_t team) {
    const weft_shmem_team* const found = find_team(team);
    if (found == nullptr) {
        const std::string missing = missing_job();
        report(routine, missing.empty() ? "team: not a team, or destroyed before" : missing);
    }
    return found;
}

/// Broadcasts to dest on all members, also the root. Returns 0, or -1 after printing the failure.
int team_broadcast(const char* routine, shmem_team_t handle, void* dest, const void* source,
                   const Elements& elements, int root) {
    const auto* const team = find_or_report(routine, handle);
    if (team == nullptr) return -1;
    if (root < 0 || root >= team->size) refuse_pe(routine, root, team->size, "PE_root");
    if (team->rank != root) return report(routine, broadcast(*team, "dest", dest, elements, root));
    const int status =
        report(routine, broadcast(*team, "source", const_cast<void*>(source), elements, root));
    const std::size_t bytes = status == 0 ? elements.count * elements.size : 0;
    if (dest != source && bytes != 0) std::memmove(dest, source, bytes);
    return status;
}

/// Calls call(team), which returns an Outcome. Returns 0, or -1 after printing the failure.
template <class Call>
int on_team(const char* routine, shmem_team_t handle, Call call) {
    const auto* const team = find_or_report(routine, handle);
    return team == nullptr ? -1 : report(routine, call(*team));
}

int team_collect(shmem_team_t handle, void* dest, const void* source, const Elements& elements) {
    return on_team("collect", handle, [&](const weft_shmem_team& team) {
        return collect(team, source, dest, elements);
    });
}

int team_fcollect(shmem_team_t handle, void* dest, const void* source, const Elements& elements) {
    return on_team("fcollect", handle, [&](const weft_shmem_team& team) {
        return allgather(team, source, dest, elements);
    });
}

int team_alltoall(shmem_team_t handle, void* dest, const void* source, const Elements& elements) {
    return on_team("alltoall", handle, [&](const weft_shmem_team& team) {
        return alltoall(team, source, dest, elements);
    });
}

int team_alltoalls(shmem_team_t handle, void* dest, const void* source, const Elements& elements,
                   const Strides& strides) {
    return on_team("alltoalls", handle, [&](const weft_shmem_team& team) {
        return alltoall(team, source, dest, elements, strides);
    });
}

int team_reduce(shmem_team_t handle, void* dest, const void* source, const Elements& elements,
                weft_type type, weft_op op) {
    return on_team("reduce", handle, [&](const weft_shmem_team& team) {
        return allreduce(team, source, dest, elements, type, op);
    });
}

int team_scan(shmem_team_t handle, void* dest, const void* source, const Elements& elements,
              weft_type type, Scan form) {
    return on_team("scan", handle, [&](const weft_shmem_team& team) {
        return scan(team, source, dest, elements, type, form);
    });
}

void reduce_to_all(const weft_shmem_team& set, void* dest, const void* source, int count,
                   std::size_t size, weft_type type, weft_op op) {
    if (count < 0) refuse("to_all", "nreduce: " + std::to_string(count) + " is negative");
    check("to_all",
          allreduce(set, source, dest, {static_cast<std::size_t>(count), size}, type, op));
}

void quiet(const char* routine) {
    require_job(routine);
    check(routine, weft_quiet(job.world));
}

}  // namespace

}  // namespace weft::shmem

namespace shmem = weft::shmem;
using shmem::job;

SHMEM_ROUTINE(void, barrier_all, (void)) {
    shmem::quiet("barrier_all");
    shmem::check("barrier_all", shmem::synchronize(*shmem::find_team(SHMEM_TEAM_WORLD)));
}

SHMEM_ROUTINE(void, sync_all, (void)) {
    shmem::require_job("sync_all");
    shmem::check("sync_all", shmem::synchronize(*shmem::find_team(SHMEM_TEAM_WORLD)));
}

SHMEM_ROUTINE(int, team_sync, (shmem_team_t team)) {
    return shmem::on_team("team_sync", team, shmem::synchronize);
}

SHMEM_ROUTINE(void, barrier, (int start, int log_stride, int size, long*)) {
    shmem::quiet("barrier");
    shmem::check("barrier",
                 shmem::synchronize(shmem::active_set("barrier", start, log_stride, size)));
}

SHMEM_ROUTINE(void, sync, (int start, int log_stride, int size, long*)) {
    shmem::check("sync", shmem::synchronize(shmem::active_set("sync", start, log_stride, size)));
}

// Defines the routines that only copy elements of BYTES bytes.
#define COPYING(BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, T, BYTES)                      \
    SHMEM_ROUTINE(int, BROADCAST,                                                                 \
                  (shmem_team_t team, T * dest, const T* source, size_t nelems, int root)) {      \
        return shmem::team_broadcast("broadcast", team, dest, source, {nelems, (BYTES)}, root);   \
    }                                                                                             \
    SHMEM_ROUTINE(int, COLLECT, (shmem_team_t team, T * dest, const T* source, size_t nelems)) {  \
        return shmem::team_collect(team, dest, source, {nelems, (BYTES)});                        \
    }                                                                                             \
    SHMEM_ROUTINE(int, FCOLLECT, (shmem_team_t team, T * dest, const T* source, size_t nelems)) { \
        return shmem::team_fcollect(team, dest, source, {nelems, (BYTES)});                       \
    }                                                                                             \
    SHMEM_ROUTINE(int, ALLTOALL, (shmem_team_t team, T * dest, const T* source, size_t nelems)) { \
        return shmem::team_alltoall(team, dest, source, {nelems, (BYTES)});                       \
    }                                                                                             \
    SHMEM_ROUTINE(int, ALLTOALLS,                                                                 \
                  (shmem_team_t team, T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst,    \
                   size_t nelems)) {                                                              \
        return shmem::team_alltoalls(team, dest, source, {nelems, (BYTES)}, {dst, sst});          \
    }
#define TYPED(N, T) \
    COPYING(N##_broadcast, N##_collect, N##_fcollect, N##_alltoall, N##_alltoalls, T, sizeof(T))
WEFT_SHMEM_RMA(TYPED)
COPYING(broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem, void, 1)

#define REDUCE(N, T, NAME, OP)                                                                   \
    SHMEM_ROUTINE(int, N##_##NAME##_reduce,                                                      \
                  (shmem_team_t team, T * dest, const T* source, size_t nreduce)) {              \
        return shmem::team_reduce(team, dest, source, {nreduce, sizeof(T)}, shmem::type_of<T>(), \
                                  OP);                                                           \
    }
#define BITS(N, T) \
    REDUCE(N, T, and, WEFT_BAND) REDUCE(N, T, or, WEFT_BOR) REDUCE(N, T, xor, WEFT_BXOR)
#define ORDERED(N, T) REDUCE(N, T, min, WEFT_MIN) REDUCE(N, T, max, WEFT_MAX)
#define NUMBERS(N, T) REDUCE(N, T, sum, WEFT_SUM) REDUCE(N, T, prod, WEFT_PROD)
WEFT_SHMEM_REDUCE_BITS(BITS)
WEFT_SHMEM_REDUCE_ORDERED(ORDERED)
WEFT_SHMEM_REDUCE_NUMBERS(NUMBERS)
#undef REDUCE

#define EXACT_REDUCE(N, T)                                                                       \
    extern "C" int shmemx_##N##_exact_sum_reduce(shmem_team_t team, T* dest, const T* source,    \
                                                 size_t nreduce) {                               \
        return shmem::team_reduce(team, dest, source, {nreduce, sizeof(T)}, shmem::type_of<T>(), \
                                  WEFT_EXACT_SUM);                                               \
    }
EXACT_REDUCE(float, float)
EXACT_REDUCE(double, double)
#undef EXACT_REDUCE

#define SCAN(N, T, NAME, FORM)                                                                \
    SHMEM_ROUTINE(int, N##_sum_##NAME,                                                        \
                  (shmem_team_t team, T * dest, const T* source, size_t nelems)) {            \
        return shmem::team_scan(team, dest, source, {nelems, sizeof(T)}, shmem::type_of<T>(), \
                                shmem::Scan::FORM);                                           \
    }
#define SCANS(N, T) SCAN(N, T, inscan, inclusive) SCAN(N, T, exscan, exclusive)
WEFT_SHMEM_REDUCE_NUMBERS(SCANS)

// --- routines of active sets ---------------------------------------------------------------------

#define REDUCE(N, T, NAME, OP)                                                                   \
    SHMEM_ROUTINE(void, N##_##NAME##_to_all,                                                     \
                  (T * dest, const T* source, int nreduce, int start, int log_stride, int size,  \
                   T*, long*)) {                                                                 \
        shmem::reduce_to_all(shmem::active_set("to_all", start, log_stride, size), dest, source, \
                             nreduce, sizeof(T), shmem::type_of<T>(), OP);                       \
    }
WEFT_SHMEM_TO_ALL_BITS(BITS)
WEFT_SHMEM_TO_ALL_ORDERED(ORDERED)
WEFT_SHMEM_TO_ALL_NUMBERS(NUMBERS)
#undef REDUCE

#define COPYING_SETS(N)                                                                         \
    SHMEM_ROUTINE(void, broadcast##N,                                                           \
                  (void* dest, const void* source, size_t nelems, int root, int start,          \
                   int log_stride, int size, long*)) {                                          \
        const auto& set = shmem::active_set("broadcast" #N, start, log_stride, size);           \
        if (root < 0 || root >= size) shmem::refuse_pe("broadcast" #N, root, size, "PE_root");  \
        /* Unlike the routine for teams, this routine leaves the root's dest unchanged. */      \
        shmem::check("broadcast" #N,                                                            \
                     set.rank == root                                                           \
                         ? shmem::broadcast(set, "source", const_cast<void*>(source),           \
                                            {nelems, N / 8}, root)                              \
                         : shmem::broadcast(set, "dest", dest, {nelems, N / 8}, root));         \
    }                                                                                           \
    SHMEM_ROUTINE(void, collect##N,                                                             \
                  (void* dest, const void* source, size_t nelems, int start, int log_stride,    \
                   int size, long*)) {                                                          \
        const auto& set = shmem::active_set("collect" #N, start, log_stride, size);             \
        shmem::check("collect" #N, shmem::collect(set, source, dest, {nelems, N / 8}));         \
    }                                                                                           \
    SHMEM_ROUTINE(void, fcollect##N,                                                            \
                  (void* dest, const void* source, size_t nelems, int start, int log_stride,    \
                   int size, long*)) {                                                          \
        const auto& set = shmem::active_set("fcollect" #N, start, log_stride, size);            \
        shmem::check("fcollect" #N, shmem::allgather(set, source, dest, {nelems, N / 8}));      \
    }                                                                                           \
    SHMEM_ROUTINE(void, alltoall##N,                                                            \
                  (void* dest, const void* source, size_t nelems, int start, int log_stride,    \
                   int size, long*)) {                                                          \
        const auto& set = shmem::active_set("alltoall" #N, start, log_stride, size);            \
        shmem::check("alltoall" #N, shmem::alltoall(set, source, dest, {nelems, N / 8}));       \
    }                                                                                           \
    SHMEM_ROUTINE(void, alltoalls##N,                                                           \
                  (void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
                   int start, int log_stride, int size, long*)) {                               \
        const auto& set = shmem::active_set("alltoalls" #N, start, log_stride, size);           \
        shmem::check("alltoalls" #N,                                                            \
                     shmem::alltoall(set, source, dest, {nelems, N / 8}, {dst, sst}));          \
    }
COPYING_SETS(32)
COPYING_SETS(64)
