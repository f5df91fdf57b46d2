// SPDX-License-Identifier: BSD-3-Clause
// collectives.cpp - the collectives of the C interface: the arguments of each, and its three forms.
//
// Holds    A blocking call with plain arguments goes straight to its team.
// Next     calls.hpp for what arguments mean; run/runtime/team.cpp for the call.
#include "collectives/collective_traits.hpp"
#include "front/c_api/calls.hpp"
#include "front/c_api/errors.hpp"

using weft::Collective;
using weft::c_api::CallArguments;
using weft::c_api::prepare;
using weft::c_api::start;

namespace {

/// Built-in type and operation, no counts, not in place: what is given is what is meant.
bool is_plain(const CallArguments& arguments) {
    return static_cast<unsigned>(arguments.type) < weft::kBuiltinTypes &&
           static_cast<unsigned>(arguments.op) < weft::kBuiltinOps &&
           arguments.in != WEFT_IN_PLACE && arguments.out != WEFT_IN_PLACE &&
           arguments.collective < weft::collectives::kFirstWithCounts;
}

weft_status run(const char* function, weft_team* handle, const CallArguments& arguments) noexcept {
    namespace c_api = weft::c_api;
    try {
        weft::run::Team* const team = c_api::usable_team(handle);
        if (team == nullptr) [[unlikely]]
            return c_api::refuse(function, c_api::find_team(handle).failure());
        if (is_plain(arguments)) [[likely]] {
            const auto type = static_cast<weft::Type>(arguments.type);
            const auto op = static_cast<weft::Op>(arguments.op);
            if (team->run({arguments.collective, arguments.in, arguments.out, arguments.count, type,
                           op, arguments.root})) [[likely]]
                return WEFT_OK;
            return c_api::refuse(function, team->failure());
        }
        const auto call = c_api::read(*team, arguments);
        if (!call) return c_api::refuse(function, call.failure());
        return team->run(*call) ? WEFT_OK : c_api::refuse(function, team->failure());
    } catch (...) {
        return c_api::refuse_exception(function);
    }
}

CallArguments barrier() {
    return {.collective = Collective::barrier};
}
CallArguments broadcast(void* buffer, size_t count, weft_type type, int root) {
    return {Collective::broadcast, buffer, buffer, count, type, WEFT_SUM, root};
}
CallArguments allreduce(const void* in, void* out, size_t count, weft_type type, weft_op op) {
    return {Collective::allreduce, in, out, count, type, op};
}
CallArguments reduce(const void* in, void* out, size_t count, weft_type type, weft_op op,
                     int root) {
    return {Collective::reduce, in, out, count, type, op, root};
}
CallArguments gather(const void* in, void* out, size_t count, weft_type type, int root) {
    return {Collective::gather, in, out, count, type, WEFT_SUM, root};
}
CallArguments scatter(const void* in, void* out, size_t count, weft_type type, int root) {
    return {Collective::scatter, in, out, count, type, WEFT_SUM, root};
}
CallArguments allgather(const void* in, void* out, size_t count, weft_type type) {
    return {Collective::allgather, in, out, count, type};
}
CallArguments alltoall(const void* in, void* out, size_t count, weft_type type) {
    return {Collective::alltoall, in, out, count, type};
}
CallArguments reduce_scatter(const void* in, void* out, size_t count, weft_type type, weft_op op) {
    return {Collective::reduce_scatter, in, out, count, type, op};
}
CallArguments scan(const void* in, void* out, size_t count, weft_type type, weft_op op) {
    return {Collective::scan, in, out, count, type, op};
}
CallArguments exscan(const void* in, void* out, size_t count, weft_type type, weft_op op) {
    return {Collective::exscan, in, out, count, type, op};
}
CallArguments gatherv(const void* in, size_t count, void* out, const size_t* counts,
                      const size_t* displacements, weft_type type, int root) {
    return {Collective::gatherv, in, out, count, type, WEFT_SUM, root, {}, {counts, displacements}};
}
CallArguments scatterv(const void* in, const size_t* counts, const size_t* displacements, void* out,
                       size_t count, weft_type type, int root) {
    return {Collective::scatterv, in, out, count, type, WEFT_SUM, root, {counts, displacements}};
}
CallArguments allgatherv(const void* in, void* out, const size_t* counts,
                         const size_t* displacements, weft_type type) {
    return {Collective::allgatherv, in, out, 0, type, WEFT_SUM, -1, {}, {counts, displacements}};
}
CallArguments alltoallv(const void* in, const size_t* in_counts, const size_t* in_displacements,
                        void* out, const size_t* out_counts, const size_t* out_displacements,
                        weft_type type) {
    return {Collective::alltoallv,
            in,
            out,
            0,
            type,
            WEFT_SUM,
            -1,
            {in_counts, in_displacements},
            {out_counts, out_displacements}};
}
CallArguments reduce_scatterv(const void* in, void* out, const size_t* counts, weft_type type,
                              weft_op op) {
    return {Collective::reduce_scatterv, in, out, 0, type, op, -1, {counts}};
}

}  // namespace

// --- blocking ----------------------------------------------------------------------------------

extern "C" weft_status weft_barrier(weft_team* team) {
    return run(__func__, team, barrier());
}
extern "C" weft_status weft_broadcast(weft_team* team, void* buffer, size_t count, weft_type type,
                                      int root) {
    return run(__func__, team, broadcast(buffer, count, type, root));
}
extern "C" weft_status weft_allreduce(weft_team* team, const void* in, void* out, size_t count,
                                      weft_type type, weft_op op) {
    return run(__func__, team, allreduce(in, out, count, type, op));
}
extern "C" weft_status weft_reduce(weft_team* team, const void* in, void* out, size_t count,
                                   weft_type type, weft_op op, int root) {
    return run(__func__, team, reduce(in, out, count, type, op, root));
}
extern "C" weft_status weft_gather(weft_team* team, const void* in, void* out, size_t count,
                                   weft_type type, int root) {
    return run(__func__, team, gather(in, out, count, type, root));
}
extern "C" weft_status weft_scatter(weft_team* team, const void* in, void* out, size_t count,
                                    weft_type type, int root) {
    return run(__func__, team, scatter(in, out, count, type, root));
}
extern "C" weft_status weft_allgather(weft_team* team, const void* in, void* out, size_t count,
                                      weft_type type) {
    return run(__func__, team, allgather(in, out, count, type));
}
extern "C" weft_status weft_alltoall(weft_team* team, const void* in, void* out, size_t count,
                                     weft_type type) {
    return run(__func__, team, alltoall(in, out, count, type));
}
extern "C" weft_status weft_reduce_scatter(weft_team* team, const void* in, void* out, size_t count,
                                           weft_type type, weft_op op) {
    return run(__func__, team, reduce_scatter(in, out, count, type, op));
}
extern "C" weft_status weft_scan(weft_team* team, const void* in, void* out, size_t count,
                                 weft_type type, weft_op op) {
    return run(__func__, team, scan(in, out, count, type, op));
}
extern "C" weft_status weft_exscan(weft_team* team, const void* in, void* out, size_t count,
                                   weft_type type, weft_op op) {
    return run(__func__, team, exscan(in, out, count, type, op));
}
extern "C" weft_status weft_gatherv(weft_team* team, const void* in, size_t count, void* out,
                                    const size_t* counts, const size_t* displacements,
                                    weft_type type, int root) {
    return run(__func__, team, gatherv(in, count, out, counts, displacements, type, root));
}
extern "C" weft_status weft_scatterv(weft_team* team, const void* in, const size_t* counts,
                                     const size_t* displacements, void* out, size_t count,
                                     weft_type type, int root) {
    return run(__func__, team, scatterv(in, counts, displacements, out, count, type, root));
}
extern "C" weft_status weft_allgatherv(weft_team* team, const void* in, void* out,
                                       const size_t* counts, const size_t* displacements,
                                       weft_type type) {
    return run(__func__, team, allgatherv(in, out, counts, displacements, type));
}
extern "C" weft_status weft_alltoallv(weft_team* team, const void* in, const size_t* in_counts,
                                      const size_t* in_displacements, void* out,
                                      const size_t* out_counts, const size_t* out_displacements,
                                      weft_type type) {
    return run(
        __func__, team,
        alltoallv(in, in_counts, in_displacements, out, out_counts, out_displacements, type));
}
extern "C" weft_status weft_reduce_scatterv(weft_team* team, const void* in, void* out,
                                            const size_t* counts, weft_type type, weft_op op) {
    return run(__func__, team, reduce_scatterv(in, out, counts, type, op));
}

// --- started -----------------------------------------------------------------------------------

extern "C" weft_status weft_ibarrier(weft_team* team, weft_request** request) {
    return start(__func__, team, request, barrier());
}
extern "C" weft_status weft_ibroadcast(weft_team* team, void* buffer, size_t count, weft_type type,
                                       int root, weft_request** request) {
    return start(__func__, team, request, broadcast(buffer, count, type, root));
}
extern "C" weft_status weft_iallreduce(weft_team* team, const void* in, void* out, size_t count,
                                       weft_type type, weft_op op, weft_request** request) {
    return start(__func__, team, request, allreduce(in, out, count, type, op));
}
extern "C" weft_status weft_ireduce(weft_team* team, const void* in, void* out, size_t count,
                                    weft_type type, weft_op op, int root, weft_request** request) {
    return start(__func__, team, request, reduce(in, out, count, type, op, root));
}
extern "C" weft_status weft_igather(weft_team* team, const void* in, void* out, size_t count,
                                    weft_type type, int root, weft_request** request) {
    return start(__func__, team, request, gather(in, out, count, type, root));
}
extern "C" weft_status weft_iscatter(weft_team* team, const void* in, void* out, size_t count,
                                     weft_type type, int root, weft_request** request) {
    return start(__func__, team, request, scatter(in, out, count, type, root));
}
extern "C" weft_status weft_iallgather(weft_team* team, const void* in, void* out, size_t count,
                                       weft_type type, weft_request** request) {
    return start(__func__, team, request, allgather(in, out, count, type));
}
extern "C" weft_status weft_ialltoall(weft_team* team, const void* in, void* out, size_t count,
                                      weft_type type, weft_request** request) {
    return start(__func__, team, request, alltoall(in, out, count, type));
}
extern "C" weft_status weft_ireduce_scatter(weft_team* team, const void* in, void* out,
                                            size_t count, weft_type type, weft_op op,
                                            weft_request** request) {
    return start(__func__, team, request, reduce_scatter(in, out, count, type, op));
}
extern "C" weft_status weft_iscan(weft_team* team, const void* in, void* out, size_t count,
                                  weft_type type, weft_op op, weft_request** request) {
    return start(__func__, team, request, scan(in, out, count, type, op));
}
extern "C" weft_status weft_iexscan(weft_team* team, const void* in, void* out, size_t count,
                                    weft_type type, weft_op op, weft_request** request) {
    return start(__func__, team, request, exscan(in, out, count, type, op));
}
extern "C" weft_status weft_igatherv(weft_team* team, const void* in, size_t count, void* out,
                                     const size_t* counts, const size_t* displacements,
                                     weft_type type, int root, weft_request** request) {
    return start(__func__, team, request,
                 gatherv(in, count, out, counts, displacements, type, root));
}
extern "C" weft_status weft_iscatterv(weft_team* team, const void* in, const size_t* counts,
                                      const size_t* displacements, void* out, size_t count,
                                      weft_type type, int root, weft_request** request) {
    return start(__func__, team, request,
                 scatterv(in, counts, displacements, out, count, type, root));
}
extern "C" weft_status weft_iallgatherv(weft_team* team, const void* in, void* out,
                                        const size_t* counts, const size_t* displacements,
                                        weft_type type, weft_request** request) {
    return start(__func__, team, request, allgatherv(in, out, counts, displacements, type));
}
extern "C" weft_status weft_ialltoallv(weft_team* team, const void* in, const size_t* in_counts,
                                       const size_t* in_displacements, void* out,
                                       const size_t* out_counts, const size_t* out_displacements,
                                       weft_type type, weft_request** request) {
    return start(
        __func__, team, request,
        alltoallv(in, in_counts, in_displacements, out, out_counts, out_displacements, type));
}
extern "C" weft_status weft_ireduce_scatterv(weft_team* team, const void* in, void* out,
                                             const size_t* counts, weft_type type, weft_op op,
                                             weft_request** request) {
    return start(__func__, team, request, reduce_scatterv(in, out, counts, type, op));
}

// --- persistent --------------------------------------------------------------------------------

extern "C" weft_status weft_barrier_init(weft_team* team, weft_request** request) {
    return prepare(__func__, team, request, barrier());
}
extern "C" weft_status weft_broadcast_init(weft_team* team, void* buffer, size_t count,
                                           weft_type type, int root, weft_request** request) {
    return prepare(__func__, team, request, broadcast(buffer, count, type, root));
}
extern "C" weft_status weft_allreduce_init(weft_team* team, const void* in, void* out, size_t count,
                                           weft_type type, weft_op op, weft_request** request) {
    return prepare(__func__, team, request, allreduce(in, out, count, type, op));
}
extern "C" weft_status weft_reduce_init(weft_team* team, const void* in, void* out, size_t count,
                                        weft_type type, weft_op op, int root,
                                        weft_request** request) {
    return prepare(__func__, team, request, reduce(in, out, count, type, op, root));
}
extern "C" weft_status weft_gather_init(weft_team* team, const void* in, void* out, size_t count,
                                        weft_type type, int root, weft_request** request) {
    return prepare(__func__, team, request, gather(in, out, count, type, root));
}
extern "C" weft_status weft_scatter_init(weft_team* team, const void* in, void* out, size_t count,
                                         weft_type type, int root, weft_request** request) {
    return prepare(__func__, team, request, scatter(in, out, count, type, root));
}
extern "C" weft_status weft_allgather_init(weft_team* team, const void* in, void* out, size_t count,
                                           weft_type type, weft_request** request) {
    return prepare(__func__, team, request, allgather(in, out, count, type));
}
extern "C" weft_status weft_alltoall_init(weft_team* team, const void* in, void* out, size_t count,
                                          weft_type type, weft_request** request) {
    return prepare(__func__, team, request, alltoall(in, out, count, type));
}
extern "C" weft_status weft_reduce_scatter_init(weft_team* team, const void* in, void* out,
                                                size_t count, weft_type type, weft_op op,
                                                weft_request** request) {
    return prepare(__func__, team, request, reduce_scatter(in, out, count, type, op));
}
extern "C" weft_status weft_scan_init(weft_team* team, const void* in, void* out, size_t count,
                                      weft_type type, weft_op op, weft_request** request) {
    return prepare(__func__, team, request, scan(in, out, count, type, op));
}
extern "C" weft_status weft_exscan_init(weft_team* team, const void* in, void* out, size_t count,
                                        weft_type type, weft_op op, weft_request** request) {
    return prepare(__func__, team, request, exscan(in, out, count, type, op));
}
extern "C" weft_status weft_gatherv_init(weft_team* team, const void* in, size_t count, void* out,
                                         const size_t* counts, const size_t* displacements,
                                         weft_type type, int root, weft_request** request) {
    return prepare(__func__, team, request,
                   gatherv(in, count, out, counts, displacements, type, root));
}
extern "C" weft_status weft_scatterv_init(weft_team* team, const void* in, const size_t* counts,
                                          const size_t* displacements, void* out, size_t count,
                                          weft_type type, int root, weft_request** request) {
    return prepare(__func__, team, request,
                   scatterv(in, counts, displacements, out, count, type, root));
}
extern "C" weft_status weft_allgatherv_init(weft_team* team, const void* in, void* out,
                                            const size_t* counts, const size_t* displacements,
                                            weft_type type, weft_request** request) {
    return prepare(__func__, team, request, allgatherv(in, out, counts, displacements, type));
}
extern "C" weft_status weft_alltoallv_init(weft_team* team, const void* in, const size_t* in_counts,
                                           const size_t* in_displacements, void* out,
                                           const size_t* out_counts,
                                           const size_t* out_displacements, weft_type type,
                                           weft_request** request) {
    return prepare(
        __func__, team, request,
        alltoallv(in, in_counts, in_displacements, out, out_counts, out_displacements, type));
}
extern "C" weft_status weft_reduce_scatterv_init(weft_team* team, const void* in, void* out,
                                                 const size_t* counts, weft_type type, weft_op op,
                                                 weft_request** request) {
    return prepare(__func__, team, request, reduce_scatterv(in, out, counts, type, op));
}
