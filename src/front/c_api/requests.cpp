// SPDX-License-Identifier: BSD-3-Clause
// requests.cpp - started and persistent collectives of the C interface, and how they end.
#include <utility>

#include "front/c_api/calls.hpp"

namespace c_api = weft::c_api;
using weft::Status;
using weft::base::Done;
using weft::base::fail;
using weft::base::Failure;
using weft::base::Result;

namespace {

enum class Form { started, persistent };

/// Makes a request of a call and, if it is a started one, starts it.
template <class Read>
Result<void> make(weft_team* team, weft_request** request, Form form, Read read) {
    const auto found = c_api::find_team(team);
    if (!found) return found.failure();
    if (request == nullptr) return fail(Status::argument, "request is NULL");
    Result<c_api::Request> call = c_api::read_on(*found->team, read);
    if (!call) return call.failure();
    if (auto settled = c_api::settle_in_place(*found->team, *call); !settled) return settled;
    call->team = team;
    call->persistent = form == Form::persistent;
    if (auto fits = found->team->prepare(call->shape, call->buffers); !fits) return fits;
    if (call->persistent && weft::run::traits_of(call->shape.kind).has_counts()) {
        call->blocks = std::make_shared<weft::run::HeldBlocks>(call->shape.in, call->shape.out);
        call->shape.in = call->blocks->in();
        call->shape.out = call->blocks->out();
    }
    const auto handle = found->context->add_request(std::move(*call));
    if (!handle) return handle.failure();
    if (form == Form::started) {
        c_api::Request& made = *c_api::find_request(*handle)->request;
        const auto started = found->team->start(made.shape, made.buffers);
        if (!started) {
            found->context->remove(*handle);
            return started.failure();
        }
        made.operation = *started;
    }
    *request = *handle;
    return Done{};
}

/// Lets go of a request whose operation has ended, or was none; how it ended.
Result<void> end(const c_api::RequestHandle& found, weft_request** request) {
    c_api::Request& ended = *found.request;
    Result<void> outcome;
    if (weft::run::Operation* const operation = std::exchange(ended.operation, nullptr)) {
        if (operation->state == weft::run::Operation::State::failed) outcome = operation->failure;
        found.context->runtime().engine().release(*operation);
    }
    if (!ended.persistent) {
        found.context->remove(*request);
        *request = nullptr;
    }
    return outcome;
}

template <class Read>
weft_status make_guarded(const char* function, weft_team* team, weft_request** request, Form form,
                         Read read) {
    return c_api::guarded(function, [&] { return make(team, request, form, read); });
}

}  // namespace

extern "C" weft_status weft_ibarrier(weft_team* team, weft_request** request) {
    return make_guarded(__func__, team, request, Form::started, c_api::read_barrier);
}

extern "C" weft_status weft_ibroadcast(weft_team* team, void* buffer, size_t count, weft_type type,
                                       int root, weft_request** request) {
    return make_guarded(__func__, team, request, Form::started,
                        [&] { return c_api::read_broadcast(buffer, count, type, root); });
}

extern "C" weft_status weft_iallreduce(weft_team* team, const void* in, void* out, size_t count,
                                       weft_type type, weft_op op, weft_request** request) {
    return make_guarded(__func__, team, request, Form::started,
                        [&] { return c_api::read_allreduce(in, out, count, type, op); });
}

extern "C" weft_status weft_ireduce(weft_team* team, const void* in, void* out, size_t count,
                                    weft_type type, weft_op op, int root, weft_request** request) {
    return make_guarded(__func__, team, request, Form::started,
                        [&] { return c_api::read_reduce(in, out, count, type, op, root); });
}

extern "C" weft_status weft_igather(weft_team* team, const void* in, void* out, size_t count,
                                    weft_type type, int root, weft_request** request) {
    return make_guarded(__func__, team, request, Form::started, [&] {
        return c_api::read_blocks(
            weft::Collective::gather,
            {.in = in, .out = out, .count = count, .type = type, .root = root});
    });
}

extern "C" weft_status weft_iscatter(weft_team* team, const void* in, void* out, size_t count,
                                     weft_type type, int root, weft_request** request) {
    return make_guarded(__func__, team, request, Form::started, [&] {
        return c_api::read_blocks(
            weft::Collective::scatter,
            {.in = in, .out = out, .count = count, .type = type, .root = root});
    });
}

extern "C" weft_status weft_iallgather(weft_team* team, const void* in, void* out, size_t count,
                                       weft_type type, weft_request** request) {
    return make_guarded(__func__, team, request, Form::started, [&] {
        return c_api::read_blocks(weft::Collective::allgather,
                                  {.in = in, .out = out, .count = count, .type = type});
    });
}

extern "C" weft_status weft_ialltoall(weft_team* team, const void* in, void* out, size_t count,
                                      weft_type type, weft_request** request) {
    return make_guarded(__func__, team, request, Form::started, [&] {
        return c_api::read_blocks(weft::Collective::alltoall,
                                  {.in = in, .out = out, .count = count, .type = type});
    });
}

extern "C" weft_status weft_ireduce_scatter(weft_team* team, const void* in, void* out,
                                            size_t count, weft_type type, weft_op op,
                                            weft_request** request) {
    return make_guarded(__func__, team, request, Form::started, [&] {
        return c_api::read_reduction(weft::Collective::reduce_scatter,
                                     {.in = in, .out = out, .count = count, .type = type}, op);
    });
}

extern "C" weft_status weft_iscan(weft_team* team, const void* in, void* out, size_t count,
                                  weft_type type, weft_op op, weft_request** request) {
    return make_guarded(__func__, team, request, Form::started, [&] {
        return c_api::read_reduction(weft::Collective::scan,
                                     {.in = in, .out = out, .count = count, .type = type}, op);
    });
}

extern "C" weft_status weft_iexscan(weft_team* team, const void* in, void* out, size_t count,
                                    weft_type type, weft_op op, weft_request** request) {
    return make_guarded(__func__, team, request, Form::started, [&] {
        return c_api::read_reduction(weft::Collective::exscan,
                                     {.in = in, .out = out, .count = count, .type = type}, op);
    });
}

extern "C" weft_status weft_igatherv(weft_team* team, const void* in, size_t count, void* out,
                                     const size_t* counts, const size_t* displacements,
                                     weft_type type, int root, weft_request** request) {
    return make_guarded(__func__, team, request, Form::started,
                        c_api::gatherv(in, count, out, counts, displacements, type, root));
}

extern "C" weft_status weft_iscatterv(weft_team* team, const void* in, const size_t* counts,
                                      const size_t* displacements, void* out, size_t count,
                                      weft_type type, int root, weft_request** request) {
    return make_guarded(__func__, team, request, Form::started,
                        c_api::scatterv(in, counts, displacements, out, count, type, root));
}

extern "C" weft_status weft_iallgatherv(weft_team* team, const void* in, void* out,
                                        const size_t* counts, const size_t* displacements,
                                        weft_type type, weft_request** request) {
    return make_guarded(__func__, team, request, Form::started,
                        c_api::allgatherv(in, out, counts, displacements, type));
}

extern "C" weft_status weft_ialltoallv(weft_team* team, const void* in, const size_t* in_counts,
                                       const size_t* in_displacements, void* out,
                                       const size_t* out_counts, const size_t* out_displacements,
                                       weft_type type, weft_request** request) {
    return make_guarded(__func__, team, request, Form::started,
                        c_api::alltoallv(in, in_counts, in_displacements, out, out_counts,
                                         out_displacements, type));
}

extern "C" weft_status weft_ireduce_scatterv(weft_team* team, const void* in, void* out,
                                             const size_t* counts, weft_type type, weft_op op,
                                             weft_request** request) {
    return make_guarded(__func__, team, request, Form::started,
                        c_api::reduce_scatterv(in, out, counts, type, op));
}

extern "C" weft_status weft_barrier_init(weft_team* team, weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent, c_api::read_barrier);
}

extern "C" weft_status weft_broadcast_init(weft_team* team, void* buffer, size_t count,
                                           weft_type type, int root, weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent,
                        [&] { return c_api::read_broadcast(buffer, count, type, root); });
}

extern "C" weft_status weft_allreduce_init(weft_team* team, const void* in, void* out, size_t count,
                                           weft_type type, weft_op op, weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent,
                        [&] { return c_api::read_allreduce(in, out, count, type, op); });
}

extern "C" weft_status weft_reduce_init(weft_team* team, const void* in, void* out, size_t count,
                                        weft_type type, weft_op op, int root,
                                        weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent,
                        [&] { return c_api::read_reduce(in, out, count, type, op, root); });
}

extern "C" weft_status weft_gather_init(weft_team* team, const void* in, void* out, size_t count,
                                        weft_type type, int root, weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent, [&] {
        return c_api::read_blocks(
            weft::Collective::gather,
            {.in = in, .out = out, .count = count, .type = type, .root = root});
    });
}

extern "C" weft_status weft_scatter_init(weft_team* team, const void* in, void* out, size_t count,
                                         weft_type type, int root, weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent, [&] {
        return c_api::read_blocks(
            weft::Collective::scatter,
            {.in = in, .out = out, .count = count, .type = type, .root = root});
    });
}

extern "C" weft_status weft_allgather_init(weft_team* team, const void* in, void* out, size_t count,
                                           weft_type type, weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent, [&] {
        return c_api::read_blocks(weft::Collective::allgather,
                                  {.in = in, .out = out, .count = count, .type = type});
    });
}

extern "C" weft_status weft_alltoall_init(weft_team* team, const void* in, void* out, size_t count,
                                          weft_type type, weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent, [&] {
        return c_api::read_blocks(weft::Collective::alltoall,
                                  {.in = in, .out = out, .count = count, .type = type});
    });
}

extern "C" weft_status weft_reduce_scatter_init(weft_team* team, const void* in, void* out,
                                                size_t count, weft_type type, weft_op op,
                                                weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent, [&] {
        return c_api::read_reduction(weft::Collective::reduce_scatter,
                                     {.in = in, .out = out, .count = count, .type = type}, op);
    });
}

extern "C" weft_status weft_scan_init(weft_team* team, const void* in, void* out, size_t count,
                                      weft_type type, weft_op op, weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent, [&] {
        return c_api::read_reduction(weft::Collective::scan,
                                     {.in = in, .out = out, .count = count, .type = type}, op);
    });
}

extern "C" weft_status weft_exscan_init(weft_team* team, const void* in, void* out, size_t count,
                                        weft_type type, weft_op op, weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent, [&] {
        return c_api::read_reduction(weft::Collective::exscan,
                                     {.in = in, .out = out, .count = count, .type = type}, op);
    });
}

extern "C" weft_status weft_gatherv_init(weft_team* team, const void* in, size_t count, void* out,
                                         const size_t* counts, const size_t* displacements,
                                         weft_type type, int root, weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent,
                        c_api::gatherv(in, count, out, counts, displacements, type, root));
}

extern "C" weft_status weft_scatterv_init(weft_team* team, const void* in, const size_t* counts,
                                          const size_t* displacements, void* out, size_t count,
                                          weft_type type, int root, weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent,
                        c_api::scatterv(in, counts, displacements, out, count, type, root));
}

extern "C" weft_status weft_allgatherv_init(weft_team* team, const void* in, void* out,
                                            const size_t* counts, const size_t* displacements,
                                            weft_type type, weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent,
                        c_api::allgatherv(in, out, counts, displacements, type));
}

extern "C" weft_status weft_alltoallv_init(weft_team* team, const void* in, const size_t* in_counts,
                                           const size_t* in_displacements, void* out,
                                           const size_t* out_counts,
                                           const size_t* out_displacements, weft_type type,
                                           weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent,
                        c_api::alltoallv(in, in_counts, in_displacements, out, out_counts,
                                         out_displacements, type));
}

extern "C" weft_status weft_reduce_scatterv_init(weft_team* team, const void* in, void* out,
                                                 const size_t* counts, weft_type type, weft_op op,
                                                 weft_request** request) {
    return make_guarded(__func__, team, request, Form::persistent,
                        c_api::reduce_scatterv(in, out, counts, type, op));
}

extern "C" weft_status weft_start(weft_request* request) {
    return c_api::guarded(__func__, [&]() -> Result<void> {
        const auto found = c_api::find_request(request);
        if (!found) return found.failure();
        c_api::Request& call = *found->request;
        if (!call.persistent)
            return fail(Status::argument, "the request is not persistent: it started when made");
        if (call.operation != nullptr)
            return fail(Status::argument,
                        "the request is in flight: weft_wait() or weft_test() ends that");
        const auto team = c_api::find_team(call.team);
        if (!team) return team.failure();
        const auto started = team->team->start(call.shape, call.buffers);
        if (!started) return started.failure();
        call.operation = *started;
        return Done{};
    });
}

extern "C" weft_status weft_test(weft_request** request, int* done) {
    return c_api::guarded(__func__, [&]() -> Result<void> {
        if (request == nullptr) return fail(Status::argument, "request is NULL");
        if (done == nullptr) return fail(Status::argument, "done is NULL");
        if (*request != nullptr) {
            const auto found = c_api::find_request(*request);
            if (!found) return found.failure();
            const weft::run::Operation* const operation = found->request->operation;
            weft::run::RealEngine& engine = found->context->runtime().engine();
            if (operation != nullptr && !engine.ended(*operation)) engine.poll();
            *done = operation == nullptr || engine.ended(*operation) ? 1 : 0;
            if (*done != 0) return end(*found, request);
            engine.relax();
            return Done{};
        }
        *done = 1;
        return Done{};
    });
}

extern "C" weft_status weft_wait(weft_request** request) {
    return c_api::guarded(__func__, [&]() -> Result<void> {
        if (request == nullptr) return fail(Status::argument, "request is NULL");
        if (*request == nullptr) return Done{};
        const auto found = c_api::find_request(*request);
        if (!found) return found.failure();
        if (weft::run::Operation* const operation = found->request->operation)
            found->context->runtime().engine().wait(*operation);
        return end(*found, request);
    });
}

extern "C" weft_status weft_request_free(weft_request** request) {
    return c_api::guarded(__func__, [&]() -> Result<void> {
        if (request == nullptr) return fail(Status::argument, "request is NULL");
        if (*request == nullptr) return Done{};
        const auto found = c_api::find_request(*request);
        if (!found) return found.failure();
        const weft::run::Operation* const operation = found->request->operation;
        if (operation != nullptr && !found->context->runtime().engine().ended(*operation))
            return fail(Status::argument,
                        "the request is in flight: weft_wait() or weft_test() ends that");
        found->request->persistent = false;
        return end(*found, request);
    });
}
