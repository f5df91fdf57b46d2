// SPDX-License-Identifier: BSD-3-Clause
// collectives.cpp - C functions of the collectives, in three forms: blocking, started, persistent.
#include "api/c/calls.hpp"
#include "collectives/collective_traits.hpp"

namespace weft::c_api {

namespace {

/// Returns true if the type is valid and the operation is not a user operation.
[[gnu::always_inline]] inline bool is_built_in(const CallArguments& arguments) {
    return static_cast<unsigned>(arguments.type) < kBuiltinTypes &&
           static_cast<unsigned>(arguments.op) < kBuiltinOps;
}
/// Returns the call of arguments that are built in and have no counts.
[[gnu::always_inline]] inline Call plain_call(const CallArguments& arguments) {
    return {arguments.collective,
            arguments.in,
            arguments.out,
            arguments.count,
            static_cast<Type>(arguments.type),
            static_cast<Op>(arguments.op),
            arguments.root};
}
/// Returns the status of a call, and stores its failure; nullptr: the call has not failed.
weft_status outcome(const char* function, const base::Failure* failure) noexcept {
    return failure == nullptr ? WEFT_OK : refuse(function, *failure);
}

/// Runs a blocking call. Inlined into each C function, so that the arguments stay in registers. A
/// call that repeats the last call of its collective, with equal arguments, is not checked again.
[[gnu::always_inline]] inline weft_status run_now(const char* function, weft_team* handle,
                                                  CallArguments arguments) noexcept {
    run::Team* const team = find_team_fast(handle);
    const auto* const last = team == nullptr || !is_built_in(arguments)
                                 ? nullptr
                                 : team->repeated(plain_call(arguments));
    if (last == nullptr) [[unlikely]] {
        const CallArguments kept = arguments;  // only this path needs the arguments in memory
        return run(function, handle, kept);
    }
    try {
        return outcome(function, team->run(*last));
    } catch (...) {
        return refuse_exception(function);
    }
}

}  // namespace

weft_status run(const char* function, weft_team* handle, const CallArguments& arguments) noexcept {
    try {
        run::Team* team = find_team_fast(handle);
        if (team == nullptr) [[unlikely]] {
            const auto found = find(handle);
            if (!found) return refuse(function, found.failure());
            team = found->team;
        }
        if (is_built_in(arguments) && arguments.in != WEFT_IN_PLACE &&
            arguments.out != WEFT_IN_PLACE && arguments.collective < collectives::kFirstWithCounts)
            [[likely]]
            return outcome(function, team->run(plain_call(arguments)));
        const auto call = to_call(*team, arguments);
        return call ? outcome(function, team->run(*call)) : refuse(function, call.failure());
    } catch (...) {
        return refuse_exception(function);
    }
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

/// Defines the three forms of a collective: weft_NAME, weft_iNAME and weft_NAME_init. `parameters`:
/// in parentheses, the parameters between the team and the request. The other arguments initialize
/// the members of CallArguments after `collective`, in order.
#define WEFT_FORMS(name, parameters, ...)                                           \
    extern "C" weft_status weft_##name(weft_team* team WEFT_MORE parameters) {      \
        return run_now(__func__, team, {Collective::name, __VA_ARGS__});            \
    }                                                                               \
    extern "C" weft_status weft_i##name(weft_team* team WEFT_MORE parameters,       \
                                        weft_request** request) {                   \
        return start(__func__, team, {Collective::name, __VA_ARGS__}, request);     \
    }                                                                               \
    extern "C" weft_status weft_##name##_init(weft_team* team WEFT_MORE parameters, \
                                              weft_request** request) {             \
        return prepare(__func__, team, {Collective::name, __VA_ARGS__}, request);   \
    }
#define WEFT_MORE(...) __VA_OPT__(, ) __VA_ARGS__

WEFT_FORMS(barrier, ())
WEFT_FORMS(broadcast, (void* buffer, size_t count, weft_type type, int root), buffer, buffer, count,
           type, WEFT_SUM, root)
WEFT_FORMS(allreduce, (const void* in, void* out, size_t count, weft_type type, weft_op op), in,
           out, count, type, op)
WEFT_FORMS(reduce_scatter, (const void* in, void* out, size_t count, weft_type type, weft_op op),
           in, out, count, type, op)
WEFT_FORMS(scan, (const void* in, void* out, size_t count, weft_type type, weft_op op), in, out,
           count, type, op)
WEFT_FORMS(exscan, (const void* in, void* out, size_t count, weft_type type, weft_op op), in, out,
           count, type, op)
WEFT_FORMS(reduce, (const void* in, void* out, size_t count, weft_type type, weft_op op, int root),
           in, out, count, type, op, root)
WEFT_FORMS(gather, (const void* in, void* out, size_t count, weft_type type, int root), in, out,
           count, type, WEFT_SUM, root)
WEFT_FORMS(scatter, (const void* in, void* out, size_t count, weft_type type, int root), in, out,
           count, type, WEFT_SUM, root)
WEFT_FORMS(allgather, (const void* in, void* out, size_t count, weft_type type), in, out, count,
           type)
WEFT_FORMS(alltoall, (const void* in, void* out, size_t count, weft_type type), in, out, count,
           type)
WEFT_FORMS(gatherv,
           (const void* in, size_t count, void* out, const size_t* counts,
            const size_t* displacements, weft_type type, int root),
           in, out, count, type, WEFT_SUM, root, {}, {counts, displacements})
WEFT_FORMS(scatterv,
           (const void* in, const size_t* counts, const size_t* displacements, void* out,
            size_t count, weft_type type, int root),
           in, out, count, type, WEFT_SUM, root, {counts, displacements})
WEFT_FORMS(allgatherv,
           (const void* in, void* out, const size_t* counts, const size_t* displacements,
            weft_type type),
           in, out, 0, type, WEFT_SUM, -1, {}, {counts, displacements})
WEFT_FORMS(alltoallv,
           (const void* in, const size_t* in_counts, const size_t* in_displacements, void* out,
            const size_t* out_counts, const size_t* out_displacements, weft_type type),
           in, out, 0, type, WEFT_SUM, -1, {in_counts, in_displacements},
           {out_counts, out_displacements})
WEFT_FORMS(reduce_scatterv,
           (const void* in, void* out, const size_t* counts, weft_type type, weft_op op), in, out,
           0, type, op, -1, {counts})

#undef WEFT_MORE
#undef WEFT_FORMS
